#include "stores/redis/protocol/script_call.hpp"

#include <array>
#include <charconv>

#include "stores/redis/protocol/quorum_scripts.hpp"
#include "stores/redis/protocol/resp.hpp"
#include "stores/redis/protocol/scripts.hpp"

namespace holdfast::redis {

using tickets::task;

namespace {

constexpr std::size_t keys_of_a_name = 4;

}  // namespace

script script_of(task kind) {
  switch (kind) {
    case task::acquire: return {text::acquire_sha1, text::acquire};
    case task::find:
    case task::look: return {text::look_sha1, text::look};
    case task::renew: return {text::renew_sha1, text::renew};
    case task::release:
    case task::withdraw: return {text::release_sha1, text::release};
    case task::downgrade: return {text::downgrade_sha1, text::downgrade};
    case task::annotate: return {text::annotate_sha1, text::annotate};
    case task::request_release: return {text::request_release_sha1, text::request_release};
    case task::force_release: return {text::force_release_sha1, text::force_release};
    case task::inspect:
    case task::list: break;
  }
  return {text::inspect_sha1, text::inspect};
}

script voting_script_of(task kind, tickets::ballot_step step) {
  using tickets::ballot_step;
  switch (step) {
    case ballot_step::claim: return {quorum_text::claim_sha1, quorum_text::claim};
    case ballot_step::yield: return {quorum_text::yield_sha1, quorum_text::yield};
    case ballot_step::accept: return {quorum_text::accept_sha1, quorum_text::accept};
    case ballot_step::end: return {quorum_text::end_hold_sha1, quorum_text::end_hold};
    case ballot_step::none: break;
  }
  switch (kind) {
    case task::release:
    case task::withdraw: return {quorum_text::release_sha1, quorum_text::release};
    case task::downgrade: return {quorum_text::downgrade_sha1, quorum_text::downgrade};
    case task::annotate: return {quorum_text::annotate_sha1, quorum_text::annotate};
    default: return script_of(kind);  // which grants nothing
  }
}

void append_number(std::string& out, std::int64_t n) {
  std::array<char, 24> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), n).ptr;
  append_bulk_string(out, {digits.data(), static_cast<std::size_t>(end - digits.data())});
}

void begin_call(std::string& out, const script& s, bool in_full, std::size_t names, std::size_t arguments) {
  const std::size_t key_count = keys_of_a_name * names;
  append_command(out, 3 + key_count + arguments);
  append_bulk_string(out, in_full ? "EVAL" : "EVALSHA");
  append_bulk_string(out, in_full ? s.text : s.sha1);
  append_number(out, static_cast<std::int64_t>(key_count));
}

void append_keys(std::string& out, const keys& k) {
  for (const std::string* key : {&k.lock, &k.fence, &k.waiters, &k.holders}) append_bulk_string(out, *key);
}

}  // namespace holdfast::redis
