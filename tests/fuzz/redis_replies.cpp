// SPDX-License-Identifier: Apache-2.0
// Any bytes as what a Redis server sends: they are taken apart, or refused, and every request makes of every
// message an outcome, a failure or another question.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <vector>

#include "stores/redis/protocol/cluster.hpp"
#include "stores/redis/protocol/keys.hpp"
#include "stores/redis/protocol/request_fsm.hpp"
#include "stores/redis/protocol/resp.hpp"
#include "stores/redis/protocol/server_answers.hpp"
#include "support/ballot_form.hpp"
#include "support/request_form.hpp"

namespace {

using namespace holdfast;

std::vector<redis::value> messages_in(std::string_view bytes, std::size_t piece) {
  redis::parser p;
  std::vector<redis::value> all;
  try {
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
      p.feed(bytes.substr(at, piece));
      while (auto v = p.next()) all.push_back(std::move(*v));
    }
  } catch (const redis::parser::garbage&) {
  }
  return all;
}

void hear_all(test::task kind, const std::vector<redis::value>& messages, const redis::dialect& in,
              redis::shard_channels* channels = nullptr) {
  test::request_form r;
  r.kind = kind;
  r.name = "a";
  r.holds.resize(2);
  std::optional<redis::request_fsm> talk{std::in_place, test::ballot_of(r), in, owner_id{}};
  std::size_t at = 0;
  while (true) {
    std::string out;
    const std::size_t due = talk->say(out, std::nullopt, channels);
    if (due == 0) std::abort();
    if (messages.size() - at < due) return;
    const auto from = messages.begin() + static_cast<std::ptrdiff_t>(at);
    const auto outcome = talk->hear({from, from + static_cast<std::ptrdiff_t>(due)});
    at += due;
    if (!outcome) continue;
    const auto* const reply = std::get_if<tickets::reply>(&*outcome);
    const auto* const part = reply == nullptr ? nullptr : std::get_if<tickets::more>(reply);
    if (part == nullptr) return;
    r.listed = part->listed;
    talk.emplace(test::ballot_of(r), in, owner_id{});
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes{reinterpret_cast<const char*>(data), size};
  const auto messages = messages_in(bytes, bytes.size() + 1);
  if (messages_in(bytes, 3).size() != messages.size()) std::abort();  // pieces make no difference
  redis::dialect plain;
  redis::dialect careful;
  careful.replicas = 1;
  for (std::size_t task = 0; task < test::task_count; ++task) {
    hear_all(static_cast<test::task>(task), messages, plain);
    hear_all(static_cast<test::task>(task), messages, careful);
    redis::shard_channels channels;
    hear_all(static_cast<test::task>(task), messages, careful, &channels);
  }
  (void)redis::read_notification(bytes);
  (void)redis::lock_of_side_key(bytes);
  (void)redis::request_error_of(std::string{bytes});
  return 0;
}
