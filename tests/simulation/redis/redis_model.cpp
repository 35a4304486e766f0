#include "simulation/redis/redis_model.hpp"

#include <algorithm>
#include <utility>

#include "simulation/redis/server_access.hpp"

namespace holdfast::sim {

namespace {

redis::value push_of(std::string_view event, std::string_view channel, redis::value third) {
  redis::value push;
  push.type = redis::value::kind::push;
  for (const std::string_view text : {event, channel}) {
    redis::value& item = push.items.emplace_back();
    item.type = redis::value::kind::text;
    item.text = text;
  }
  push.items.push_back(std::move(third));
  return push;
}

redis::value text_of(std::string_view text) { return {redis::value::kind::text, 0, std::string{text}, {}}; }

/// As Redis 7 says that it does not know a command.
std::string unknown(std::span<const std::string_view> arguments) {
  std::string text = "ERR unknown command '" + std::string{up_to_nul(arguments[0].substr(0, 128))} +
                     "', with args beginning with: ";
  const std::size_t head = text.size();
  for (const std::string_view argument : arguments.subspan(1)) {
    const std::size_t used = text.size() - head;
    if (used >= 128) break;
    text.append("'").append(up_to_nul(argument.substr(0, 128 - used))).append("' ");
  }
  return text;
}

/// An error is one line.
void keep_to_one_line(redis::value& reply) {
  if (reply.is(redis::value::kind::error)) {
    for (char& c : reply.text) {
      if (c == '\r' || c == '\n') c = ' ';
    }
  }
  for (redis::value& item : reply.items) keep_to_one_line(item);
}

std::string lower_case(std::string_view name) {
  std::string text{name};
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; });
  return text;
}

}  // namespace

redis_model::redis_model(clock now_us, deliver push) : clock_{std::move(now_us)}, deliver_{std::move(push)} {
  change_replication_id();
  identity_.run = next_identity();
}

connection redis_model::connect() {
  connection c;
  c.id = ++last_id_;
  c.authenticated = settings_.password.empty();
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
  ++commands_;
  by_ = &by;
  has_written_ = false;
  call c{*this, data_, by, arguments, reply};
  dispatch(c);
  keep_to_one_line(reply);
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
  if (found == nullptr) {
    return c.in_script ? c.error("ERR Unknown Redis command called from script")
                       : c.error(unknown(c.arguments));
  }
  const auto size = static_cast<int>(c.size());
  if (found->arity >= 0 ? size != found->arity : size < -found->arity) {
    return c.in_script ? c.error("ERR Wrong number of args calling Redis command from script")
                       : c.error("ERR wrong number of arguments for '" + lower_case(c[0]) + "' command");
  }
  if (c.in_script && (found->flag & command::not_in_scripts) != 0) {
    return c.error("ERR This Redis command is not allowed from script");
  }
  if (!c.by.authenticated && (found->flag & command::before_auth) == 0) {
    return c.error("NOAUTH Authentication required.");
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
    case refusal::of::commands: return !c.in_script && (request.flag & command::before_auth) == 0;
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

bool redis_model::evict(std::string_view key) {
  begin_command();
  dataset::slot* const s = data_.find(key);
  if (s != nullptr) data_.erase(*s);
  return s != nullptr;
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
  evict(name);
  return name;
}

std::vector<std::string> redis_model::keys() {
  begin_command();
  std::vector<std::string> names;
  data_.each([&](const dataset::slot& s) { names.push_back(s.first); });
  std::sort(names.begin(), names.end());
  return names;
}

std::int64_t server_access::publish(call& c, std::string_view channel, std::string_view message) {
  redis_model& server = c.server;
  const auto found = server.subscribers_.find(channel);
  if (found == server.subscribers_.end()) return 0;
  if (server.deliver_) {
    for (const std::uint64_t id : found->second)
      server.deliver_(id, push_of("message", channel, text_of(message)));
  }
  return static_cast<std::int64_t>(found->second.size());
}

std::vector<std::string> server_access::channels_of(const call& c) {
  std::vector<std::string> names;
  for (const auto& [channel, ids] : c.server.subscribers_) {
    if (std::find(ids.begin(), ids.end(), c.by.id) != ids.end()) names.push_back(channel);
  }
  std::sort(names.begin(), names.end());
  return names;
}

void server_access::subscribe(call& c, std::string_view channel) {
  auto& ids = c.server.subscribers_[std::string{channel}];
  if (std::find(ids.begin(), ids.end(), c.by.id) == ids.end()) ids.push_back(c.by.id);
  redis::value count;
  count.type = redis::value::kind::number;
  count.number = static_cast<std::int64_t>(channels_of(c).size());
  if (c.server.deliver_) c.server.deliver_(c.by.id, push_of("subscribe", channel, std::move(count)));
  c.reply.type = redis::value::kind::push;
}

void server_access::unsubscribe(call& c, std::string_view channel) {
  if (const auto found = c.server.subscribers_.find(channel); found != c.server.subscribers_.end()) {
    auto& ids = found->second;
    ids.erase(std::remove(ids.begin(), ids.end(), c.by.id), ids.end());
  }
  redis::value count;
  count.type = redis::value::kind::number;
  count.number = static_cast<std::int64_t>(channels_of(c).size());
  if (c.server.deliver_) c.server.deliver_(c.by.id, push_of("unsubscribe", channel, std::move(count)));
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
