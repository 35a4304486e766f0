#include "commands/release.hpp"

#include <fmt/core.h>

#include "failure.hpp"
#include "output/json.hpp"
#include "output/terminal.hpp"
#include "output/text.hpp"

namespace holdfast::cli {

namespace {

std::size_t end_one(const client& locks, const release_command& request) {
  const bool ended =
      locks.force_release(request.name, fencing_token{static_cast<std::uint64_t>(*request.token)});
  return ended ? 1 : 0;
}

/// What a server that was not heard holds stays there until its ttl.
void print_unheard(const client& locks, const std::string& name) {
  try {
    for (const auto& note : locks.inspect(name).value_or(lock_state{}).notes)
      if (!note.answers)
        complain(
            fmt::format("holdfast release: note: {}; a hold there stays until its ttl\n", to_text(note)));
  } catch (const error&) {  // the hold was ended, and that was the task
  }
}

}  // namespace

int perform(const release_command& request) {
  if (!request.force) {
    throw failure{bad_usage, fmt::format("release takes the lock '{}' from its holder, and needs --force. "
                                         "The holder is notified, but release does not wait for it. Only the "
                                         "fencing token stops what the holder still writes",
                                         request.name)};
  }
  const auto locks = open_client(request.store);
  const auto ended = request.token ? end_one(locks, request) : locks.force_release(request.name);
  if (request.store.json) {
    print_line({{"name", request.name}, {"ended", ended}});
  } else if (ended == 0) {
    fmt::print("nobody held the lock '{}'{}\n", printable(request.name),
               request.token ? fmt::format(" with the token {}", *request.token) : "");
  } else {
    fmt::print("ended {} of the lock '{}'\n", ended == 1 ? "the hold" : fmt::format("{} holds", ended),
               printable(request.name));
  }
  if (ended != 0) print_unheard(locks, request.name);
  return 0;
}

}  // namespace holdfast::cli
