#include "commands/release.hpp"

#include <fmt/core.h>

#include "failure.hpp"
#include "output/json.hpp"
#include "output/text.hpp"

namespace holdfast::cli {

namespace {

std::size_t end_one(const client& locks, const release_command& what) {
  const bool ended = locks.force_release(what.name, fencing_token{static_cast<std::uint64_t>(*what.token)});
  return ended ? 1 : 0;
}

}  // namespace

int perform(const release_command& what) {
  if (!what.force) {
    throw failure{bad_usage, fmt::format("release takes the lock '{}' from its holder, and needs --force. "
                                         "The holder is notified, but release does not wait for it. Only the "
                                         "fencing token stops what the holder still writes",
                                         what.name)};
  }
  const auto locks = open_client(what.store);
  const auto ended = what.token ? end_one(locks, what) : locks.force_release(what.name);
  if (what.store.json) {
    print_line({{"name", what.name}, {"ended", ended}});
  } else if (ended == 0) {
    fmt::print("nobody held the lock '{}'{}\n", printable(what.name),
               what.token ? fmt::format(" with the token {}", *what.token) : "");
  } else {
    fmt::print("ended {} of the lock '{}'\n", ended == 1 ? "the hold" : fmt::format("{} holds", ended),
               printable(what.name));
  }
  return 0;
}

}  // namespace holdfast::cli
