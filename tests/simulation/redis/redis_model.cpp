// SPDX-License-Identifier: Apache-2.0
#include "simulation/redis/redis_model.hpp"

#include <algorithm>
#include <utility>

#include "simulation/redis/server_access.hpp"

namespace holdfast::sim {

namespace {

redis::value message_of(std::string_view channel, std::string_view text) {
  redis::value push;
  push.type = redis::value::kind::push;
  for (const std::string_view each : {std::string_view{"message"}, channel, text}) {
    redis::value& item = push.items.emplace_back();
    item.type = redis::value::kind::text;
    item.text = each;
  }
  return push;
}

}  // namespace

redis_model::redis_model(clock now_us, deliver push) : clock_{std::move(now_us)}, deliver_{std::move(push)} {
  change_replication_id();
  identity_.run = next_identity();
}

connection redis_model::connect() {
  connection c;
  c.id = ++last_id_;
  return c;
}

void redis_model::disconnect(const connection& c) {
  for (auto& [channel, ids] : subscribers_) ids.erase(std::remove(ids.begin(), ids.end(), c.id), ids.end());
}

std::int64_t redis_model::begin_command() {
  now_us_ = clock_();
  data_.begin_command(now_us_ / 1000);
  return now_us_;
}

redis::value redis_model::execute(const std::vector<std::string>& arguments, connection& by) {
  return execute(std::vector<std::string_view>{arguments.begin(), arguments.end()}, by);
}

redis::value redis_model::execute(std::span<const std::string_view> arguments, connection& by) {
  redis::value reply;
  if (arguments.empty()) return reply;
  begin_command();
  by_ = &by;
  has_written_ = false;
  call c{*this, data_, by, arguments, reply};
  dispatch(c);
  by_ = nullptr;
  return reply;
}

bool redis_model::call_from_script(std::span<const std::string_view> arguments, redis::value& reply) {
  call c{*this, data_, *by_, arguments, reply, true};
  dispatch(c);
  return c.status;
}

void redis_model::dispatch(call& c) {
  const command* const found = find_command(c[0]);
  if (found == nullptr) return c.error("ERR the model has no command " + std::string{c[0]});
  const auto size = static_cast<int>(c.size());
  if (found->arity >= 0 ? size != found->arity : size < -found->arity) {
    return c.error("ERR wrong number of arguments for " + std::string{c[0]});
  }
  if (c.in_script && (found->flag & command::not_in_scripts) != 0) {
    return c.error("ERR This Redis command is not allowed from script");
  }
  if (settings_.read_only && (found->flag & command::writes) != 0) {
    return c.error("READONLY You can't write against a read only replica.");
  }
  if (is_refused(c, *found)) return c.error(settings_.refuses.error);
  has_written_ = has_written_ || (found->flag & command::writes) != 0;
  found->run(c);
}

bool redis_model::is_refused(const call& c, const command& request) const {
  switch (settings_.refuses.scope) {
    case refusal::of::nothing: return false;
    case refusal::of::commands: return !c.in_script;
    case refusal::of::writes: return (request.flag & command::writes) != 0;
    case refusal::of::growth: return (request.flag & command::grows) != 0 && !has_written_;
  }
  return false;
}

void redis_model::forget_connections() {
  subscribers_.clear();
  scripts_.clear();
}

/// 40 hexadecimal digits that no other server has.
std::string redis_model::next_identity() {
  const std::string digits = std::to_string(++last_identity_);
  return std::string(40 - digits.size(), 'a') + digits;
}

void redis_model::change_replication_id() {
  identity_.replication = next_identity();
  identity_.former_replication = std::string(40, '0');
}

void redis_model::restart() {
  forget_connections();
  change_replication_id();
  identity_.run = next_identity();
  identity_.started_us = clock_();
}

/// The replica was started long ago.
void redis_model::fail_over() {
  forget_connections();
  identity_.former_replication = identity_.replication;
  identity_.replication = next_identity();
  identity_.run = next_identity();
  identity_.started_us = clock_() - std::int64_t{24} * 3600 * 1'000'000;
}

void redis_model::follow(const redis_model& primary) {
  settings_.read_only = true;
  settings_.refuses = {};
  data_.restore(primary.data_);
}

void redis_model::take_over_from(const redis_model& primary) {
  last_id_ = std::max(last_id_, primary.last_id_);
  last_identity_ = std::max(last_identity_, primary.last_identity_);
  settings_.read_only = false;
  identity_.former_replication = primary.identity_.replication;
  identity_.replication = next_identity();
}

std::optional<std::string> redis_model::evict_volatile(std::uint64_t draw) {
  begin_command();
  std::vector<std::string> names;
  data_.each([&](const dataset::slot& s) {
    if (s.second.expires_ms != dataset::never) names.push_back(s.first);
  });
  if (names.empty()) return std::nullopt;
  std::sort(names.begin(), names.end());
  std::string name = names[draw % names.size()];
  data_.erase(*data_.find(name));
  return name;
}

std::int64_t server_access::publish(call& c, std::string_view channel, std::string_view message) {
  redis_model& server = c.server;
  const auto found = server.subscribers_.find(channel);
  if (found == server.subscribers_.end()) return 0;
  if (server.deliver_) {
    for (const std::uint64_t id : found->second) server.deliver_(id, message_of(channel, message));
  }
  return static_cast<std::int64_t>(found->second.size());
}

void server_access::subscribe(call& c, std::string_view channel) {
  auto& ids = c.server.subscribers_[std::string{channel}];
  if (std::find(ids.begin(), ids.end(), c.by.id) == ids.end()) ids.push_back(c.by.id);
  c.reply.type = redis::value::kind::push;
}

const interpreter::script* server_access::load(call& c, std::string_view text) {
  std::string message;
  const interpreter::script* const made = interpreter::of_this_thread().compile(text, message);
  if (made == nullptr) {
    c.error("ERR Error compiling script (new function): " + message);
    return nullptr;
  }
  c.server.scripts_.emplace(made->sha, made);
  return made;
}

const interpreter::script* server_access::script(const call& c, std::string_view sha) {
  const auto found = c.server.scripts_.find(sha);
  return found == c.server.scripts_.end() ? nullptr : found->second;
}

void server_access::run(call& c, const interpreter::script& script, std::size_t keys) {
  const auto arguments = c.arguments.subspan(3);
  interpreter::of_this_thread().run(script, arguments.subspan(0, keys), arguments.subspan(keys), c.server,
                                    c.reply);
}

}  // namespace holdfast::sim
