#include "simulation/redis/against_server/lock_clients.hpp"

#include <cctype>
#include <chrono>
#include <memory>
#include <optional>
#include <variant>

#include "simulation/redis/against_server/values.hpp"
#include "stores/redis/protocol/keys.hpp"
#include "stores/redis/protocol/request_fsm.hpp"
#include "support/request_form.hpp"

namespace holdfast::sim {

namespace {

using redis::value;
using kind = value::kind;
using trick = lock_step::trick;

const std::array<std::string, lock_names> names = {"stock", "a}b", "{t}ickets"};

owner_id id_of(std::uint8_t n) {
  owner_id::bytes_type bytes{};
  bytes.fill(n);
  return owner_id{bytes};
}
owner_id owner_of(std::size_t owner) { return id_of(static_cast<std::uint8_t>(0x10 + owner)); }
owner_id client_id(std::size_t client) { return id_of(static_cast<std::uint8_t>(0xc0 + client)); }
std::size_t client_of(std::size_t owner) { return owner % compared_server::clients; }

value text(std::string t) { return {kind::text, 0, std::move(t), {}}; }
value time_of(duration d) {
  return {kind::number, std::chrono::duration_cast<std::chrono::milliseconds>(d).count(), {}, {}};
}
value list(std::vector<value> items) { return {kind::list, 0, {}, std::move(items)}; }

const tickets::more* part_in(const tickets::link::outcome& o) {
  const auto* const reply = std::get_if<tickets::reply>(&o);
  return reply == nullptr ? nullptr : std::get_if<tickets::more>(reply);
}

}  // namespace

lock_clients::lock_clients(compared_server& server, const redis::dialect& in) : server_{&server}, in_{&in} {
  for (std::size_t client = 0; client < compared_server::clients; ++client) {
    server_->subscribe(client, redis::channel_of(client_id(client)));
  }
}

value lock_clients::perform(const lock_step& s) {
  value outcome;
  if (s.played != trick::none) {
    outcome = play(s);
  } else {
    auto request = request_of(s);
    auto result = ask(request, client_of(s.owner));
    while (const auto* part = part_in(result)) {
      *tickets::listed_in(request) = part->listed;
      result = ask(request, client_of(s.owner));
    }
    if (const auto* reply = std::get_if<tickets::reply>(&result)) {
      if (const auto* place = std::get_if<tickets::place>(reply)) tokens_[{s.name, s.owner}] = place->token;
    }
    outcome = value_of(result);
  }
  return list({outcome, notifications_for(0), notifications_for(1)});
}

tickets::link::outcome lock_clients::ask(const tickets::request& request, std::size_t client) {
  redis::request_fsm talk{request, *in_, client_id(client)};
  std::optional<redis::request_fsm::outcome> result;
  while (!result) {
    std::string bytes;
    const std::size_t replies = talk.say(bytes);
    result = talk.hear(server_->exchange(client, bytes, replies));
  }
  return std::move(*result);
}

value lock_clients::play(const lock_step& s) {
  const redis::keys k = redis::keys::of(in_->prefix, names.at(s.name));
  const std::string ttl = std::to_string(s.ttl_ms);
  const auto ask = [&](const strings& command) { return server_->ask(0, command); };
  switch (s.played) {
    case trick::none: break;
    case trick::foreign_lock: return ask({"SET", k.lock, "foreign", "NX", "PX", ttl});
    case trick::lock_gone: return ask({"DEL", k.lock});
    case trick::claim_over: {
      const std::string end = "end " + owner_of(s.owner).hex();
      return list({ask({"ZADD", k.waiters, "XX", "-1", end}), ask({"ZADD", k.holders, "XX", "-1", end})});
    }
    case trick::fence_gone: return ask({"DEL", k.fence});
    case trick::high_fence: return ask({"SET", k.fence, "00009007199999999998", "PX", ttl});
    case trick::wrong_lock: return ask({"ZADD", k.lock, "1", "x"});
    case trick::wrong_queue: return ask({"SET", k.waiters, "x", "NX"});
    case trick::names_forgotten: return ask({"DEL", k.fence, k.waiters, k.holders});
  }
  return {};
}

tickets::request lock_clients::request_of(const lock_step& s) const {
  const auto token_of = [&](std::size_t name, std::size_t owner) {
    const auto found = tokens_.find({name, owner});
    return found == tokens_.end() ? fencing_token{} : found->second;
  };
  test::request_form r;
  r.kind = s.task;
  r.name = names.at(s.name);
  r.owner = owner_of(s.owner);
  if (s.known == lock_step::token::its_own) r.token = token_of(s.name, s.owner);
  if (s.known == lock_step::token::wrong) r.token = fencing_token{12345};
  r.weight = s.weight;
  r.capacity = s.capacity;
  r.ttl = std::chrono::milliseconds{s.ttl_ms};
  r.wait = s.wait;
  r.idle = s.idle;
  r.metadata = std::make_shared<const std::string>("somebody, number " + std::to_string(s.owner));
  for (const auto& h : s.batch)
    r.holds.push_back({names.at(h.name), owner_of(h.owner), token_of(h.name, h.owner), r.ttl});
  return r;
}

value lock_clients::notifications_for(std::size_t client) {
  std::vector<value> all;
  for (const value& push : server_->take_pushes(client)) {
    const auto notification =
        push.items.size() == 3 ? redis::read_notification(push.items[2].text, *in_) : std::nullopt;
    if (!notification) {
      all.push_back(push);
      continue;
    }
    all.push_back(list({text(push.items[1].text), text(notification->owner.hex()),
                        text(std::to_string(static_cast<int>(notification->kind))),
                        text(order_of(notification->token))}));
  }
  return list(std::move(all));
}

std::string lock_clients::order_of(fencing_token t) {
  // What is ahead of every clock is drawn from what was there, the same on both.
  constexpr std::uint64_t no_clock = 9'000'000'000'000'000;
  if (!t || t.value() > no_clock) return std::to_string(t.value());
  return std::string{"#"}.append(std::to_string(order_.emplace(t.value(), order_.size() + 1).first->second));
}

value lock_clients::value_of(const tickets::link::outcome& o) {
  if (const auto* t = std::get_if<store::request_error>(&o)) {
    // Where the error arose stands in it: the script's sum and line.
    return {kind::error,
            0,
            t->reason.code.message() + ": " + t->reason.message + (t->retryable ? ", retryable" : "") +
                (t->maybe_executed ? ", maybe executed" : ""),
            {}};
  }
  struct {
    lock_clients& self;
    value operator()(const tickets::nothing&) const { return text("nothing"); }
    value operator()(const tickets::done&) const { return text("done"); }
    value operator()(const tickets::refused&) const { return text("refused"); }
    value operator()(const tickets::paused& p) const { return text("paused: " + p.reason.message); }
    value operator()(const tickets::other_capacity& c) const {
      return text("other capacity " + std::to_string(c.capacity));
    }
    value operator()(const tickets::place& p) const { return self.value_of(p); }
    value operator()(const tickets::kept& k) const {
      std::string digits;
      for (const bool one : k.each) digits += one ? '1' : '0';
      return text("kept " + digits);
    }
    value operator()(const tickets::more&) const { return text("more"); }
    value operator()(const tickets::count& c) const { return text("count " + std::to_string(c.value)); }
    value operator()(const std::optional<lock_state>& s) const {
      return s ? self.value_of(*s) : text("no state");
    }
    value operator()(const std::vector<lock_summary>& all) const {
      std::vector<value> items;
      for (const lock_summary& s : all) items.push_back(self.value_of(s));
      return list(std::move(items));
    }
  } const visitor{*this};
  return std::visit(visitor, std::get<tickets::reply>(o));
}

value lock_clients::value_of(const tickets::place& p) {
  value v = list({text(p.granted ? "granted" : "waits"), text(order_of(p.token)), text(p.head ? "head" : ""),
                  text(p.silent ? "silent" : "")});
  if (p.holder_left) v.items.push_back(time_of(*p.holder_left));
  return v;
}

value lock_clients::value_of(const lock_state& s) {
  value v = list({text(s.name), text(std::to_string(s.capacity)), text(order_of(s.last_token))});
  for (const auto* claims : {&s.holders, &s.waiters}) {
    value& part = v.items.emplace_back(list({}));
    for (const claim_state& c : *claims) {
      part.items.push_back(
          list({text(c.owner), text(std::string{to_string(c.mode)}), text(std::to_string(c.permits)),
                text(order_of(c.token)), text(c.claimant.label), time_of(c.age), time_of(c.expires_in)}));
    }
  }
  return v;
}

value lock_clients::value_of(const lock_summary& s) {
  return list({text(s.name), text(std::string{to_string(s.mode)}), text(std::to_string(s.capacity)),
               text(std::to_string(s.holders)), text(std::to_string(s.waiters)), text(order_of(s.last_token)),
               time_of(s.held_for), text(order_of(s.holder_token)), text(s.holder.label)});
}

value lock_clients::all_keys() {
  value all = server_->ask(0, {"SCAN", "0", "COUNT", "1000"}).items.at(1);
  sort_items(all);
  value v = list({});
  for (const value& key : all.items) {
    const std::string kind_of_key = server_->ask(0, {"TYPE", key.text}).text;
    value members;
    if (kind_of_key == "zset") members = server_->ask(0, {"ZRANGEBYSCORE", key.text, "-inf", "+inf"});
    // The times in claims are those of each server's clock.
    for (value& member : members.items) {
      if (std::isdigit(static_cast<unsigned char>(member.text.front())) != 0 &&
          member.text.find(' ') != std::string::npos)
        member.text = "a claim of " + member.text.substr(21, 32);
    }
    sort_items(members);
    v.items.push_back(list({key, text(kind_of_key), members, server_->ask(0, {"PTTL", key.text})}));
  }
  return v;
}

}  // namespace holdfast::sim
