#include "sim/redis_store.hpp"

#include <algorithm>
#include <charconv>
#include <stdexcept>
#include <utility>

#include "protocol/redis/keys.hpp"
#include "protocol/tickets/family.hpp"

namespace holdfast::sim {

namespace {

/// One command, as a client wrote it: an array of bulk strings.
std::vector<std::string> next_command(std::string_view& bytes) {
  const auto number = [&] {
    std::size_t n = 0;
    const auto end = std::from_chars(bytes.data() + 1, bytes.data() + bytes.size(), n).ptr;
    bytes.remove_prefix(static_cast<std::size_t>(end - bytes.data()) + 2);
    return n;
  };
  std::vector<std::string> words(number());
  for (std::string& word : words) {
    const std::size_t size = number();
    word.assign(bytes.substr(0, size));
    bytes.remove_prefix(size + 2);
  }
  return words;
}

}  // namespace

redis_store::redis_store(mutant with)
    : change_{with},
      server_{[this] { return at_->wall_now(); },
              [this](std::uint64_t to, const redis::value& push) { hear(to, push); }} {
  for (std::size_t i = 0; i < names; ++i) {
    const auto k = redis::keys::of(speech.prefix, name_of(i));
    for (const std::string& key : {k.lock, k.fence, k.queue, k.claims, k.expiries}) ours_.emplace(key, i);
  }
}

ledger::terms redis_store::terms() const {
  ledger::terms t;
  t.grain = 2000;  // whole milliseconds, rounded now up, now down
  t.grants_renew = true;
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
  callers_.clear();
  server_.restart();
  server_.lose_everything();
  listener_ = server_.connect();
  connection other = server_.connect();
  for (const auto& theirs : {std::vector<std::string>{"SET", "stock/sku-0", "theirs"},
                             std::vector<std::string>{"HSET", "holdfast:hash", "field", "value"}}) {
    static_cast<void>(server_.execute(theirs, other));
  }
  static_cast<void>(server_.take_touched());
}

std::unique_ptr<tickets::link> redis_store::connect(host& from, line& over, duration patience) {
  auto link = std::make_unique<redis_link>(static_cast<switchboard&>(*this), *in_, from, over, patience);
  callers_.push_back({link->address(), link.get(), {}, 0, false});
  listen_to(link->address());
  return link;
}

void redis_store::connected(redis_link& by) {
  caller& c = known(by.address());
  if (c.is_known) server_.disconnect(c.at_server);
  c.at_server = server_.connect();
  c.number = by.connection();
  c.is_known = true;
  static_cast<void>(server_.execute({"HELLO", "3"}, c.at_server));
  static_cast<void>(server_.execute({"SUBSCRIBE", redis::channel_of(c.client)}, c.at_server));
}

void redis_store::gone(redis_link& by) { known(by.address()).link = nullptr; }

redis_store::caller& redis_store::known(const owner_id& client) {
  const auto found =
      std::find_if(callers_.rbegin(), callers_.rend(), [&](const caller& c) { return c.client == client; });
  if (found == callers_.rend()) throw std::logic_error{"a client that nobody knows"};
  return *found;
}

void redis_store::listen_to(const owner_id& client) {
  static_cast<void>(server_.execute({"SUBSCRIBE", redis::channel_of(client)}, listener_));
}

void redis_store::restart() {
  server_.restart();
  for (caller& c : callers_) c.is_known = false;
  listener_ = server_.connect();
  for (const caller& c : callers_) listen_to(c.client);
}

bool redis_store::carry_out(const std::string& commands, const owner_id& client, std::uint32_t connection,
                            std::vector<redis::value>& replies) {
  caller& c = known(client);
  if (!c.is_known || c.number != connection) return false;
  told_.clear();
  for (std::string_view left = commands; !left.empty();) {
    std::vector<std::string> words = next_command(left);
    change_.apply(words);
    replies.push_back(server_.execute(words, c.at_server));
  }
  return true;
}

void redis_store::account_for(const tickets::request& what, bool late, const tickets::link::outcome& answer) {
  const auto* reply = std::get_if<tickets::reply>(&answer);
  if (reply != nullptr) {
    account_->executed(what, late, *reply, told_);
  } else if (what.what != tickets::task::evict) {  // without its fence, a holder looks like a foreign one
    in_->violated("the server refused: " + std::get<store::trouble>(answer).what.what);
  }
}

/// A push, in the middle of a command.
void redis_store::hear(std::uint64_t connection, const redis::value& push) {
  if (push.items.size() != 3 || push.items[0].text != "message") return;
  constexpr std::size_t head = std::string_view{"holdfast:client:"}.size();
  const auto client = owner_id::from_hex(std::string_view{push.items[1].text}.substr(head));
  const auto read = redis::read_word(push.items[2].text, speech);
  if (!client || !read) return in_->violated("a word that nobody understands: " + push.items[2].text);
  const word w{*client, read->first, read->second};
  if (connection == listener_.id) return told_.push_back(w);
  caller& c = known(*client);
  if (c.link != nullptr && c.number == c.link->connection()) c.link->push(w);
}

std::optional<lock_state> redis_store::inspect(const std::string& name) {
  connection own = server_.connect();
  static_cast<void>(server_.execute({"HELLO", "3"}, own));
  redis::conversation asks{tickets::family::inspection(name), speech, owner_id{}};
  std::optional<tickets::link::outcome> heard;
  while (!heard) {
    std::string said;
    static_cast<void>(asks.say(said));
    std::string_view left = said;
    std::vector<redis::value> replies;
    while (!left.empty()) replies.push_back(server_.execute(next_command(left), own));
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
  return all;
}

std::optional<std::size_t> redis_store::evict() {
  const auto key = server_.evict_volatile(in_->chance.bits());
  if (!key) return std::nullopt;
  in_->log.line(in_->now, "evicted " + *key);
  const auto whose = ours_.find(*key);
  return whose == ours_.end() ? std::nullopt : std::optional{whose->second};
}

std::string redis_store::damage() {
  for (const std::string& key : server_.take_touched()) {
    if (!ours_.contains(key)) return "a key was touched that is not ours: " + key;
  }
  return {};
}

}  // namespace holdfast::sim
