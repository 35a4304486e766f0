// SPDX-License-Identifier: Apache-2.0
#include "simulation/redis_store.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <stdexcept>
#include <utility>

#include "core/questions.hpp"
#include "simulation/redis/numbers.hpp"
#include "stores/redis/protocol/keys.hpp"
#include "stores/redis/protocol/replies.hpp"
#include "support/ballot_form.hpp"
#include "support/joint_requests.hpp"

namespace holdfast::sim {

namespace {

constexpr auto least_keep = std::chrono::seconds{1};  // as the URL has it

/// One command, as a client wrote it: an array of bulk strings.
void read_command(std::string_view& bytes, std::vector<std::string_view>& arguments) {
  const auto number = [&] {
    std::size_t n = 0;
    const auto end = std::from_chars(bytes.data() + 1, bytes.data() + bytes.size(), n).ptr;
    bytes.remove_prefix(static_cast<std::size_t>(end - bytes.data()) + 2);
    return n;
  };
  arguments.resize(number());
  for (std::string_view& argument : arguments) {
    const std::size_t size = number();
    argument = bytes.substr(0, size);
    bytes.remove_prefix(size + 2);
  }
}

}  // namespace

redis_store::redis_store(mutant with)
    : asks_for_guard_{with != mutant::guard_ignored},
      with_{with},
      change_{with},
      hears_replicas_{with != mutant::replicas_unheard},
      server_{[this] { return at_->wall_now() / clock_grain_ * clock_grain_; },
              [this](std::uint64_t to, const redis::value& push) { hear(to, push); }} {
  asks_again = with != mutant::guard_asked_once;
  for (std::size_t i = 0; i < names; ++i) {
    const auto k = redis::keys::of(speech.prefix, name_of(i));
    for (const std::string& key : {k.lock, k.fence, k.waiters, k.holders}) ours_.emplace(key, i);
    lock_keys_.at(i) = k.lock;
    fence_keys_.at(i) = k.fence;
  }
}

ledger::terms redis_store::terms() const {
  ledger::terms t;
  t.grain = 2000;  // whole milliseconds, rounded now up, now down
  t.grants_renew = true;
  t.finds_renew = true;
  t.owner_says_all = true;
  t.late_is_possible = false;  // a former connection has ended before the next is used
  return t;
}

void redis_store::begin(scene& in, site& at, ledger& account) {
  in_ = &in;
  at_ = &at;
  account_ = &account;
  at.ends_by_wall_clock = true;
  careless = true;
  refuses_until_ = {};
  foreign_values_.clear();
  speech.replicas = always_replicas_.value_or(in.chance.one_in(4) ? 1 : 0);
  speech.replicas_wait = redis::dialect{}.replicas_wait / (in.chance.one_in(2) ? 1 : 4);
  replicas_.begin(speech.replicas);
  former_.reset();
  min_replicas_max_lag_.reset();
  if (always_min_replicas_.value_or(in.chance.one_in(2))) {
    const duration lag = in.chance.between(milliseconds{100}, milliseconds{2000});
    min_replicas_max_lag_ = std::chrono::ceil<milliseconds>(lag);
  }
  speech.guard = speech.former_primary = {};
  if (always_guard_.value_or(in.chance.one_in(2))) {
    speech.guard = std::chrono::ceil<milliseconds>(longest_ttl);
    speech.former_primary = min_replicas_max_lag_.value_or(milliseconds{0});
  }
  // Chance of its own: the rest of a seed's world is the same with any keep.
  randomness of_keep = in.chance;
  speech.keep = redis::dialect{}.keep;
  if (!speech.votes && of_keep.one_in(2))
    speech.keep = std::chrono::ceil<milliseconds>(of_keep.between(least_keep, longest_ttl));
  empties_without_restart = !speech.votes && of_keep.one_in(2);
  if (with_ == mutant::guard_without_lag) speech.guard -= speech.former_primary;
  if (with_ == mutant::former_primary_ignored) speech.guard += std::exchange(speech.former_primary, {});
  kills_former = in.chance.one_in(2);
  waits_for_own_writes_ = in.chance.one_in(2);
  if (!kills_former) account.expect_late_requests();
  known_clients_.clear();
  seen_grants_.clear();
  server_.restart();
  server_.lose_everything();
  listener_ = server_.connect();
  foreign_ = server_.connect();
  connection other = server_.connect();
  for (const auto& theirs : {std::vector<std::string>{"SET", "stock/sku-0", "theirs"},
                             std::vector<std::string>{"ZADD", "holdfast:set", "1", "value"}}) {
    static_cast<void>(server_.execute(theirs, other));
  }
  static_cast<void>(server_.take_touched());
}

std::unique_ptr<redis_link> redis_store::connect_to_one(host& from, line& over, duration reply_limit) {
  auto link = std::make_unique<redis_link>(static_cast<switchboard&>(*this), *in_, from, over, reply_limit);
  known_clients_.push_back({link->address(), link.get(), {}});
  listen_to(link->address());
  return link;
}

void redis_store::connected(redis_link& by) {
  known_client& c = known(by.address());
  if (kills_former) {
    for (const session& former : c.sessions) server_.disconnect(former.at_server);
    c.sessions.clear();
  }
  session& s = c.sessions.emplace_back();
  s.at_server = server_.connect();
  s.number = by.connection();
  static_cast<void>(server_.execute({"HELLO", "3"}, s.at_server));
  static_cast<void>(server_.execute({"SUBSCRIBE", redis::channel_of(c.client)}, s.at_server));
  if (asks_for_guard()) by.hear_guard(*ask_for_guard(c.client, s.number));
}

std::optional<redis::value> redis_store::ask_for_guard(const owner_id& client, std::uint32_t connection) {
  session* const by = find_session(client, connection);
  if (by == nullptr) return std::nullopt;
  if (by->is_at_former) prepare_former();
  std::string question;
  redis::failover_guard{}.append_question(question, speech, true, redis::guard_marker{}, writes_);
  std::string_view left{question};
  read_command(left, arguments_);
  change_.apply(arguments_);
  return server_of(*by).execute(arguments_, by->at_server);
}

void redis_store::gone(redis_link& by) { known(by.address()).link = nullptr; }

redis_store::known_client& redis_store::known(const owner_id& client) {
  const auto found = std::find_if(known_clients_.rbegin(), known_clients_.rend(),
                                  [&](const known_client& c) { return c.client == client; });
  if (found == known_clients_.rend()) throw std::logic_error{"a client that nobody knows"};
  return *found;
}

redis_store::session* redis_store::find_session(const owner_id& client, std::uint32_t number) {
  auto& all = known(client).sessions;
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const session& s) { return s.number == number; });
  return found == all.end() ? nullptr : &*found;
}

instant redis_store::busy_until(const owner_id& client, std::uint32_t connection) {
  const session* const s = find_session(client, connection);
  return s == nullptr ? instant{} : s->busy_until;
}

void redis_store::listen_to(const owner_id& client) {
  static_cast<void>(server_.execute({"SUBSCRIBE", redis::channel_of(client)}, listener_));
}

/// Whoever sends it hears all channels, and repeats what has proved the last grant of the claim.
void redis_store::notify_all(const store::notification& n) {
  const auto seen = seen_grants_.find(n.owner);
  for (const known_client& c : known_clients_) {
    if (c.link == nullptr) continue;
    store::notification forged = seen == seen_grants_.end() ? n : seen->second;
    forged.kind = n.kind;
    forged.token = n.token;
    forged.position.connection = redis_link::number_of(c.link->connection());
    c.link->receive(forged, careless);
  }
}

void redis_store::heal() {
  careless = false;
  refuses_until_ = in_->now;
  replicas_.catch_up();
}

void redis_store::remember_as_replica() {
  remember();
  acknowledged_at_ = in_->now;
  replicas_.hold_back_until(in_->now, never);
}

void redis_store::restart() {
  server_.restart();
  replicas_.catch_up();
  for (known_client& c : known_clients_) c.sessions.clear();
  former_.reset();
  listen_to_all();
}

void redis_store::listen_to_all() {
  listener_ = server_.connect();
  for (const known_client& c : known_clients_) listen_to(c.client);
}

std::optional<instant> redis_store::carry_out(const std::string& commands, const owner_id& client,
                                              std::uint32_t connection, std::vector<redis::value>& replies) {
  session* const by = find_session(client, connection);
  if (by == nullptr) return std::nullopt;
  notifications_.clear();
  instant ready = in_->now;
  by_former_ = by->is_at_former;
  if (by_former_) prepare_former();
  const foreign_keys before = look_at_foreign_keys(server_of(*by));
  if (!by_former_) tell_of_foreign_keys(before);
  for (std::string_view left = commands; !left.empty();) {
    read_command(left, arguments_);
    change_.apply(arguments_);
    execute_ours(*by, replies.emplace_back(), ready);
  }
  if (before != look_at_foreign_keys(server_of(*by))) in_->violated("a foreign client's key was changed");
  if (!by_former_) tell_of_what_is_left_free();
  by->busy_until = ready;
  return ready;
}

void redis_store::execute_ours(session& by, redis::value& reply, instant& ready) {
  redis_model& server = server_of(by);
  const bool asks_replicas = arguments_.front() == "WAIT";
  if (asks_replicas) {
    const std::optional<instant> written = waits_for_own_writes_ ? by.written : in_->now;
    const milliseconds limit{integer_in(arguments_.at(2)).value_or(0)};
    const auto there = by.is_at_former
                           ? replication::acknowledged{0, in_->now + limit}
                           : replicas_.wait(*in_, integer_in(arguments_.at(1)).value_or(0), limit, written);
    server.configure().replicas = hears_replicas_ ? there.by : speech.replicas;
    ready = there.at;
  }
  refused_ = !by.is_at_former && in_->now < refuses_until_ && in_->chance.one_in(refuses_one_in_);
  if (refused_) server.configure().refuses = refusal_;
  const std::uint64_t changes = server.data().changes();
  reply = server.execute(arguments_, by.at_server);
  if (changes != server.data().changes()) by.written = in_->now;
  server.configure().refuses = {};
  const bool failed = reply.is(redis::value::kind::error);
  if (failed) ready = in_->now;
  if (failed && changes != server.data().changes()) {
    in_->violated("an error was answered, and something changed: " + reply.text);
  }
}

namespace {

bool refuses_foreign_holders(const ballots::request& r) {
  return ballots::get_if<tickets::force_release>(r) != nullptr ||
         ballots::get_if<tickets::request_release>(r) != nullptr ||
         std::holds_alternative<ballots::end_hold>(r) || std::holds_alternative<ballots::ask_owner>(r);
}

}  // namespace

void redis_store::account_for(const ballots::request& request, bool late, const redis::value& reply,
                              duration paused) {
  if (ballots::get_if<tickets::list>(request) != nullptr) return;
  const test::request_form form = test::form_of(request);
  if (reply.is(redis::value::kind::error)) {
    if (!refused_ && !by_former_) in_->violated("the server refused: " + reply.text);
    return account_->refused(form, {{errc::unavailable, reply.text}, true, false});
  }
  // The queues of a world are short: the first part of an inspection has all.
  const auto answer = ballots::get_if<tickets::inspect>(request) != nullptr
                          ? tickets::link::outcome{tickets::reply{redis::part_of(form.name, reply).state}}
                          : redis::outcome_of(request, reply);
  if (const auto* heard = std::get_if<tickets::reply>(&answer)) {
    const auto* const plain = std::get_if<tickets::request>(&request);
    if (by_former_ && plain != nullptr && test::is_joint(*plain)) return account_for_former(*plain, *heard);
    if (by_former_) return account_->executed_by_former(form, *heard, notifications_);
    if (plain != nullptr) return account_->carried_out(*plain, late, *heard, notifications_, paused);
    account_->executed(form, late, *heard, notifications_, paused);
  } else if (!refuses_foreign_holders(request)) {
    // Those refuse a foreign holder. To the first, a holder without its fence looks like one.
    in_->violated("the server refused: " + std::get<store::request_error>(answer).reason.message);
  }
}

void redis_store::account_for_former(const tickets::request& joint, const tickets::reply& answer) {
  const auto parts = test::parts_of(joint);
  const auto& each = std::get<tickets::several>(answer).each;
  for (std::size_t i = 0; i < std::min(parts.size(), each.size()); ++i) {
    std::visit(
        [&](const auto& said) {
          account_->executed_by_former(test::form_of(parts[i]), tickets::reply{said},
                                       i == 0 ? notifications_ : decltype(notifications_){});
        },
        each[i]);
  }
}

void redis_store::refuse_until(instant when) {
  using of = redis_model::refusal::of;
  static const auto all = std::to_array<redis_model::refusal>({
      {of::commands, "LOADING Redis is loading the dataset in memory"},
      {of::commands,
       "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE."},
      {of::commands, "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'."},
      {of::commands, "NOPERM this user has no permissions to run the 'evalsha' command"},
      {of::commands, "NOAUTH Authentication required."},
      {of::writes, "READONLY You can't write against a read only replica."},
      {of::writes,
       "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk."},
      {of::growth, "OOM command not allowed when used memory > 'maxmemory'."},
  });
  refusal_ = all.at(in_->chance.below(all.size()));
  refuses_one_in_ = 1 + in_->chance.below(3);
  refuses_until_ = when;
  in_->log.line(in_->now, refusal_.error);
}

void redis_store::refuse_for_rights_until(instant when) {
  refusal_ = {redis_model::refusal::of::commands,
              "NOPERM this user has no permissions to run the 'evalsha' command"};
  refuses_one_in_ = 1;
  refuses_until_ = when;
}

/// A push, in the middle of a command.
void redis_store::hear(std::uint64_t connection, const redis::value& push) {
  if (push.items.size() != 3 || push.items[0].text != "message") return;
  constexpr std::size_t head = std::string_view{"holdfast:client:"}.size();
  const auto client = owner_id::from_hex(std::string_view{push.items[1].text}.substr(head));
  const bool is_listener = connection == listener_.id || (former_ && connection == former_->listener.id);
  auto read = redis::read_notification(push.items[2].text);
  if (!client || !read) return in_->violated("a notification that nobody understands: " + push.items[2].text);
  if (is_listener) {
    if (read->proof != 0) seen_grants_[read->owner] = *read;
    return notifications_.push_back({*client, *read});
  }
  known_client& c = known(*client);
  if (c.link == nullptr || c.sessions.empty()) return;
  const session& now = c.sessions.back();
  if (now.at_server.id == connection && now.number == c.link->connection()) {
    read->position.connection = redis_link::number_of(now.number);
    c.link->push(*read);
  }
}

std::optional<lock_state> redis_store::inspect(const std::string& name) {
  connection own = server_.connect();
  static_cast<void>(server_.execute({"HELLO", "3"}, own));
  redis::request_fsm asks{tickets::inspect{.name = name}, speech, owner_id{}};
  std::optional<tickets::link::outcome> heard;
  while (!heard) {
    std::string said;
    static_cast<void>(asks.say(said));
    std::string_view left = said;
    std::vector<redis::value> replies;
    while (!left.empty()) {
      read_command(left, arguments_);
      replies.push_back(server_.execute(arguments_, own));
    }
    heard = asks.hear(std::move(replies));
  }
  server_.disconnect(own);
  return std::get<std::optional<lock_state>>(std::get<tickets::reply>(*heard));
}

std::vector<standing> redis_store::claims() {
  std::vector<standing> all;
  for (std::size_t i = 0; i < names; ++i) {
    append_standings(i, inspect(name_of(i)), at_->lease_now(), all);
  }
  const foreign_keys theirs = look_at_foreign_keys(server_);
  tell_of_foreign_keys(theirs);
  std::erase_if(all, [&](const standing& s) { return foreign_values_.contains(s.owner.hex()); });
  return all;
}

std::optional<std::size_t> redis_store::evict() {
  const auto key = server_.evict_volatile(in_->chance.bits());
  if (!key) return std::nullopt;
  in_->log.line(in_->now, "evicted " + *key);
  const auto owner = ours_.find(*key);
  return owner == ours_.end() ? std::nullopt : std::optional{owner->second};
}

std::string redis_store::damage() {
  for (const std::string& key : server_.take_touched()) {
    if (!ours_.contains(key) && key != redis::guard_key(speech.prefix))
      return "a key was touched that is not ours: " + key;
  }
  return {};
}

}  // namespace holdfast::sim
