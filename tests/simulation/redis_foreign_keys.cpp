// SPDX-License-Identifier: Apache-2.0
// What clients of others do on a simulated Redis, and what of it can be seen there.

#include <algorithm>
#include <sstream>
#include <utility>

#include "simulation/redis_store.hpp"

namespace holdfast::sim {

redis_store::foreign_keys redis_store::look_at_foreign_keys(redis_model& server) {
  foreign_keys there;
  if (foreign_values_.empty()) return there;
  server.look();
  for (std::size_t i = 0; i < names; ++i) {
    const dataset::slot* const s = server.data().find(lock_keys_.at(i));
    const auto* value = s == nullptr ? nullptr : std::get_if<std::string>(&s->second.value);
    if (value == nullptr) continue;
    const auto theirs = foreign_values_.find(*value);
    if (theirs != foreign_values_.end()) there.at(i) = foreign_key{theirs->second, s->second.expires_ms};
  }
  return there;
}

void redis_store::tell_of_foreign_keys(const foreign_keys& there) {
  for (std::size_t i = 0; i < names; ++i) account_->outsider(i, there.at(i).has_value());
}

/// "token foreign seen free turn", as fairness.lua writes it.
void redis_store::tell_of_what_is_left_free() {
  if (foreign_values_.empty()) return;
  for (std::size_t i = 0; i < names; ++i) {
    const dataset::slot* const s = server_.data().find(fence_keys_.at(i));
    const auto* fence = s == nullptr ? nullptr : std::get_if<std::string>(&s->second.value);
    if (fence == nullptr || fence->find("foreign") == std::string::npos) continue;
    std::istringstream words{fence->substr(fence->find("foreign"))};
    std::string word;
    std::int64_t seen = 0;
    std::int64_t free_ms = 0;
    words >> word >> seen >> free_ms;
    const bool is_taken = server_.data().find(lock_keys_.at(i)) != nullptr;
    if (!is_taken) account_->left_free(i, free_ms * 1000, careless);
  }
}

redis::value redis_store::execute_foreign(const std::vector<std::string>& command) {
  refused_ = in_->now < refuses_until_ && in_->chance.one_in(refuses_one_in_);
  if (refused_) server_.configure().refuses = refusal_;
  redis::value reply = server_.execute(command, foreign_);
  server_.configure().refuses = {};
  tell_of_foreign_keys(look_at_foreign_keys(server_));
  return reply;
}

std::optional<bool> redis_store::set_if_absent(std::size_t name, const std::string& value, milliseconds ttl) {
  foreign_values_.emplace(value, static_cast<std::uint32_t>(foreign_values_.size()));
  const auto reply =
      execute_foreign({"SET", lock_keys_.at(name), value, "NX", "PX", std::to_string(ttl.count())});
  if (reply.is(redis::value::kind::error)) return std::nullopt;
  const bool set = !reply.is(redis::value::kind::null);
  if (set) look_when_it_ends(name);
  return set;
}

namespace {

// redis-py's own.
constexpr const char* delete_script =
    "local token = redis.call('get', KEYS[1])\n"
    "if not token or token ~= ARGV[1] then return 0 end\n"
    "redis.call('del', KEYS[1])\n"
    "return 1\n";
constexpr const char* extend_script =
    "local token = redis.call('get', KEYS[1])\n"
    "if not token or token ~= ARGV[1] then return 0 end\n"
    "redis.call('pexpire', KEYS[1], ARGV[2])\n"
    "return 1\n";

std::optional<bool> is_one(const redis::value& reply) {
  if (reply.is(redis::value::kind::error)) return std::nullopt;
  return reply.number == 1;
}

}  // namespace

std::optional<bool> redis_store::delete_if_same(std::size_t name, const std::string& value) {
  return is_one(execute_foreign({"EVAL", delete_script, "1", lock_keys_.at(name), value}));
}

std::optional<bool> redis_store::extend_if_same(std::size_t name, const std::string& value,
                                                milliseconds ttl) {
  const auto yes = is_one(
      execute_foreign({"EVAL", extend_script, "1", lock_keys_.at(name), value, std::to_string(ttl.count())}));
  if (yes.value_or(false)) look_when_it_ends(name);
  return yes;
}

/// A key that expires tells nobody.
void redis_store::look_when_it_ends(std::size_t name) {
  const auto ends_ms = server_.data().find(lock_keys_.at(name))->second.expires_ms + 1;
  in_->agenda.add(at_->wall.when(milliseconds{ends_ms}),
                  [this] { tell_of_foreign_keys(look_at_foreign_keys(server_)); });
}

}  // namespace holdfast::sim
