// SPDX-License-Identifier: Apache-2.0
#include "stores/redis/protocol/request_fsm.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <memory>
#include <variant>

#include "base/metadata.hpp"
#include "stores/redis/protocol/keys.hpp"
#include "stores/redis/protocol/quorum_scripts.hpp"
#include "stores/redis/protocol/replies.hpp"
#include "stores/redis/protocol/resp.hpp"
#include "stores/redis/protocol/scripts.hpp"
#include "stores/redis/protocol/server_answers.hpp"

namespace holdfast::redis {

using tickets::place;
using tickets::reply;

namespace {

/// The format in which the scripts write and compare a token.
std::string text_of(fencing_token token) {
  const std::string digits = std::to_string(token.value());
  return std::string(20 - digits.size(), '0') + digits;
}

/// Rounded up: the server must not end a hold before the client does.
std::int64_t milliseconds_in(duration d) { return std::chrono::ceil<std::chrono::milliseconds>(d).count(); }

/// Whether the claim is exclusive: then its script needs neither capacity nor weight.
bool takes_all(const store::claim& of) { return of.mode == mode::exclusive; }

/// Whether a script may grant, and takes the argument that forbids it.
bool may_grant(const ballots::request& r) {
  const bool grants_nothing = ballots::get_if<tickets::renew>(r) || ballots::get_if<tickets::annotate>(r) ||
                              ballots::get_if<tickets::request_release>(r) ||
                              std::holds_alternative<ballots::ask_owner>(r) ||
                              ballots::get_if<tickets::inspect>(r) || ballots::get_if<tickets::list>(r);
  return !grants_nothing;
}

}  // namespace

bool grants(const request_fsm::outcome& o) {
  if (const auto* const at = tickets::reply_in<place>(o)) return at->granted;
  const auto* const all = tickets::reply_in<tickets::several>(o);
  return all != nullptr && std::any_of(all->each.begin(), all->each.end(),
                                       [](const auto& each) { return std::holds_alternative<place>(each); });
}

request_fsm::request_fsm(ballots::request request, const dialect& in, const owner_id& client)
    : request_{std::move(request)}, in_{&in}, client_{client} {
  if (const auto* const one = ballots::get_if<tickets::inspect>(request_)) {
    inspection_ = std::static_pointer_cast<inspection>(one->listed);
    if (inspection_ == nullptr) inspection_ = std::make_shared<inspection>(one->waiters_read);
  }
  const auto* const all = ballots::get_if<tickets::list>(request_);
  if (all == nullptr) return;
  listing_ = std::static_pointer_cast<listing>(all->listed);
  if (listing_ == nullptr) listing_ = std::make_shared<listing>();
  stage_ = listing_->scanned ? stage::details : stage::scan;
}

std::size_t request_fsm::say(std::string& out, std::optional<failover_guard::pause> paused,
                             shard_channels* channels) {
  paused_ = std::move(paused);
  channels_ = channels;
  switch (stage_) {
    case stage::script:
    case stage::text:
      listens_ = say_listen(out);
      say_script(out, stage_ == stage::text);
      return listens_ ? 2 : 1;
    case stage::replicas:
      append(out, {"WAIT", std::to_string(in_->replicas), std::to_string(in_->replicas_wait.count())});
      return 1;
    case stage::type: append(out, {"TYPE", lock_key()}); return 1;
    case stage::scan: listing_->append_scan(out, *in_); return 1;
    case stage::details: return listing_->append_details(out);
  }
  return 0;
}

std::optional<request_fsm::outcome> request_fsm::hear(std::vector<value> replies) {
  try {
    if (std::exchange(listens_, false)) {
      if (replies.at(0).is(value::kind::error)) channels_->remove(slot_of(lock_key()));
      replies.erase(replies.begin());
    }
    const value& first = replies.at(0);
    if (stage_ == stage::details) return hear_details(replies);
    if (stage_ == stage::script && first.is(value::kind::error) && first.text.starts_with("NOSCRIPT")) {
      stage_ = stage::text;
      return std::nullopt;
    }
    if (stage_ == stage::replicas) return hear_replicas(first);
    if (stage_ == stage::type) return wrong_type(first.is(value::kind::text) ? first.text : std::string{});
    if (first.is(value::kind::error)) return refusal(first.text);
    if (stage_ == stage::scan) return so_far(listing_->hear_scan(first, *in_));
    return hear_script(first);
  } catch (const misunderstood&) {
    return store::request_error{
        {errc::corrupt_store, "the server's reply has not the form that the script returns"}, false, true};
  }
}

std::optional<request_fsm::outcome> request_fsm::give_up(store::time_point now, bool has_to_ask) const {
  if (stage_ != stage::text) return std::nullopt;
  const bool is_late = ballots::is_too_late(request_, now);
  if (!is_late && !has_to_ask) return std::nullopt;
  const char* const reason = is_late ? "the server did not know the script in time"
                                     : "the server did not know the script, and may grant nothing any more";
  return store::request_error{{errc::unavailable, reason}, true, is_placed_};
}

/// A server does not say which key is of a wrong type: TYPE finds it, so that the message can name it.
std::optional<request_fsm::outcome> request_fsm::refusal(const std::string& error) {
  store::request_error t = request_error_of(error);
  if (is_placed_) {
    t.maybe_executed = true;  // the claim is in the queue
  } else {
    redirection_ = redirection_in(error);
    is_between_servers_ =
        ballots::get_if<tickets::renew>(request_) != nullptr && error.starts_with("TRYAGAIN ");
  }
  if (t.reason.code != errc::wrong_type || name_of(request_).empty()) return t;
  stage_ = stage::type;
  return std::nullopt;
}

/// \param type of the lock's key; empty if the user may not ask for it.
store::request_error request_fsm::wrong_type(const std::string& type) const {
  const std::string key = lock_key();
  if (type.empty() || type == "string" || type == "none") {
    return {{errc::wrong_type, "the key " + key +
                                   ", or a side key of it, contains something that is no lock; Holdfast "
                                   "leaves it untouched: take another name, or another 'prefix' in the URL"}};
  }
  const std::string owner = type == "hash" ? " (Redisson keeps its locks as hashes)" : "";
  return {{errc::wrong_type,
           "the key " + key + " is a " + type + ", which is no lock that Holdfast can share" + owner +
               "; Holdfast leaves it untouched: take another name, or another 'prefix' in the URL"}};
}

/// The next part is a request of its own, with a limit of its own.
request_fsm::outcome request_fsm::hear_inspection(const value& reply) const {
  if (!inspection_->hear(std::string{name_of(request_)}, reply))
    return tickets::reply{tickets::more{inspection_}};
  outcome o{tickets::reply{inspection_->take()}};
  explain_pause(o);
  return o;
}

std::optional<request_fsm::outcome> request_fsm::hear_script(const value& reply) {
  if (inspection_ != nullptr) return hear_inspection(reply);
  outcome o = outcome_of(request_, reply);
  explain_pause(o);
  const auto* at = tickets::reply_in<place>(o);
  if (at != nullptr && !at->granted && !is_placed_ && channels_ != nullptr && !is_listening()) {
    is_placed_ = true;
    if (const auto* const made = ballots::get_if<tickets::acquire>(request_))
      request_ = tickets::look{hold_of(*made->claim, at->token)};
    else if (const auto* const found = ballots::get_if<tickets::find>(request_))
      request_ = tickets::look{{found->name, found->owner, at->token, found->ttl}};
    stage_ = stage::script;
    return std::nullopt;
  }
  if (is_placed_ && std::holds_alternative<tickets::reply>(o) && at == nullptr) {
    return store::request_error{
        {errc::unavailable, "the claim has ended before the client could wait for it"}, true, true};
  }
  if (in_->replicas == 0 || !grants(o)) return o;
  granted_ = std::make_unique<tickets::reply>(std::get<tickets::reply>(o));
  stage_ = stage::replicas;
  return std::nullopt;
}

/// Says why nobody is granted.
void request_fsm::explain_pause(outcome& of_script) const {
  auto* const heard = std::get_if<tickets::reply>(&of_script);
  if (!paused_ || heard == nullptr) return;
  if (auto* const none = std::get_if<tickets::paused>(heard)) none->reason = paused_->reason;
  if (auto* const at = std::get_if<place>(heard); at != nullptr && !at->granted) {
    at->pause = paused_->reason;
    at->holder_left = paused_->left;
  }
  if (auto* const state = std::get_if<std::optional<lock_state>>(heard)) {
    if (!*state) {
      state->emplace();
      (*state)->name = name_of(request_);
    }
    (*state)->paused_for = paused_->left;
    (*state)->pause_reason = paused_->reason.message;
  }
}

/// A grant that too few replicas acknowledged stays at the server. The machine looks for it again, which
/// writes the grant again and is followed by another WAIT. The grant is not released here: such a release
/// could arrive late, over a connection that has broken meanwhile, and end a hold that a client relies on by
/// then. A withdrawn claim is never looked for again.
request_fsm::outcome request_fsm::hear_replicas(const value& reply) const {
  if (reply.is(value::kind::number) && reply.number >= std::int64_t{in_->replicas}) {
    return *granted_;
  }
  return store::request_error{
      {errc::unavailable, "the lock was granted and is withdrawn: fewer than " +
                              std::to_string(in_->replicas) + " replicas acknowledged it within " +
                              std::to_string(in_->replicas_wait.count()) + " ms"},
      true,
      false,
      true};
}

request_fsm::outcome request_fsm::hear_details(const std::vector<value>& replies) {
  const value& first = replies.front();
  if (listing_->follows && first.is(value::kind::error)) redirection_ = redirection_in(first.text);
  if (redirection_) return request_error_of(first.text);
  if (auto problem = listing_->hear_details(replies, *in_, ballots::get_if<tickets::list>(request_)->idle))
    return std::move(*problem);
  return so_far(true);
}

/// The listing, or the part of it that is complete.
request_fsm::outcome request_fsm::so_far(bool progress) const {
  if (listing_->scanned && listing_->found.empty()) return tickets::reply{std::move(listing_->summaries)};
  return tickets::reply{tickets::more{listing_, progress}};
}

bool request_fsm::is_listening() const { return channels_->has(slot_of(lock_key())); }

/// A claim that waits hears of its grant on the channel of its slot. It looks after it has begun to listen,
/// so that it misses nothing. A claim that is granted at once needs no channel.
bool request_fsm::say_listen(std::string& out) {
  if (channels_ == nullptr || ballots::get_if<tickets::look>(request_) == nullptr || is_listening())
    return false;
  const std::uint16_t slot = slot_of(lock_key());
  append(out, {"SSUBSCRIBE", channel_of(client_, slot)});
  channels_->add(slot);
  return true;
}

/// The milliseconds for which a name that is not used keeps its fence. One of several servers accepts a
/// number that is ahead of its clock. It must not forget it before the clock has passed it.
std::int64_t request_fsm::keep() const {
  const std::int64_t ahead = in_->votes ? dialect::furthest_number.count() : 0;
  return std::max<std::int64_t>(in_->keep.count(), 2 * milliseconds_in(ballots::longest_ttl(request_))) +
         ahead;
}

/// Appends the call of the script of each request.
class request_fsm::speaker {
 public:
  speaker(const request_fsm& of, std::string& out, bool in_full)
      : of_{of},
        out_{out},
        in_full_{in_full},
        is_paused_{of.paused_ && may_grant(of.request_)},
        keep_{of.keep()} {}

  void operator()(const tickets::request& r) const { std::visit(*this, r); }
  void operator()(const tickets::acquire& r) const {
    say_claim({text::acquire_sha1, text::acquire}, *r.claim, r.claim->wait,
              of_.in_->proves_grants() ? r.proof : 0, std::nullopt);
  }
  void operator()(const ballots::vote& r) const {
    say_claim({quorum_text::claim_sha1, quorum_text::claim}, *r.claim, r.wait, r.proof, r.number);
  }
  void operator()(const tickets::find& r) const { say_look(r, {}); }
  void operator()(const tickets::look& r) const { say_look(r, r.token ? text_of(r.token) : std::string{}); }
  void operator()(const ballots::yield& r) const {
    say_ballot({quorum_text::yield_sha1, quorum_text::yield}, r.hold, std::to_string(r.grant));
  }
  void operator()(const ballots::accept& r) const {
    say_ballot({quorum_text::accept_sha1, quorum_text::accept}, r.hold, text_of(r.hold.token));
  }
  void operator()(const tickets::renew& r) const {
    begin_call(out_, {text::renew_sha1, text::renew}, in_full_, r.holds.size(), 1 + 2 * r.holds.size());
    for (const store::hold& h : r.holds) append_keys(out_, of_.in_->prefix, h.name);
    say(keep_);
    for (const store::hold& h : r.holds) {
      say(h.owner);
      say(milliseconds_in(h.ttl));
    }
  }
  void operator()(const tickets::release& r) const { say_end(release, r.owner, 0); }
  void operator()(const tickets::withdraw& r) const { say_end(release, r.owner, 0); }
  void operator()(const tickets::downgrade& r) const {
    say_end(of_.in_->votes ? script{quorum_text::downgrade_sha1, quorum_text::downgrade}
                           : script{text::downgrade_sha1, text::downgrade},
            r.owner, 0);
  }
  void operator()(const ballots::retract& r) const {
    say_end({quorum_text::release_sha1, quorum_text::release}, r.hold.owner, r.met_foreign ? 2 : 1);
    say(text_of(r.last));
    if (r.met_foreign) say("foreign");
  }
  void operator()(const ballots::end_hold& r) const {
    say_end({quorum_text::end_hold_sha1, quorum_text::end_hold}, r.owner, 1);
    say(text_of(r.last));
  }
  void operator()(const tickets::annotate& r) const {
    begin(of_.in_->votes ? script{quorum_text::annotate_sha1, quorum_text::annotate}
                         : script{text::annotate_sha1, text::annotate},
          2);
    say(r.owner);
    say(store::text_of(r.metadata));
  }
  void operator()(const tickets::request_release& r) const { say_wish({}, r.first, r.last, r.reason); }
  void operator()(const ballots::ask_owner& r) const {
    say_wish(r.owner.hex(), {}, tickets::last_token, r.reason);
  }
  void operator()(const tickets::force_release& r) const {
    begin({text::force_release_sha1, text::force_release}, 3);
    say(keep_);
    say(text_of(r.first));
    say(text_of(r.last));
  }
  void operator()(const tickets::inspect& /*r*/) const {
    begin({text::inspect_sha1, text::inspect}, inspection::argument_count);
    of_.inspection_->append_arguments(out_);
  }
  void operator()(const tickets::list& /*r*/) const {}  // which has no script of its own
  void operator()(const tickets::acquire_all& r) const {
    const store::claim& model = *r.claims.front();
    const std::string text = claim_text(model);
    begin_joint({text::acquire_all_sha1, text::acquire_all}, r, 3 + r.claims.size());
    say(milliseconds_in(store_ttl(model)));
    say(keep_);
    say(text);
    for (const store::claim_ptr& each : r.claims) {
      const bool is_like_model = takes_all(*each) && takes_all(model) &&
                                 store_ttl(*each) == store_ttl(model) && each->metadata == model.metadata;
      is_like_model ? say(each->owner) : say_other(*each);
    }
  }
  void operator()(const tickets::release_all& r) const {
    begin_joint({text::release_all_sha1, text::release_all}, r, 1 + r.holds.size());
    say(keep_);
    for (const store::hold& each : r.holds) say(each.owner);
  }

  /// The last argument, if the script is to grant nothing.
  void end() const {
    if (is_paused_) say("paused " + std::to_string(of_.paused_->ends.count()));
  }

 private:
  static constexpr script release{text::release_sha1, text::release};

  void say(std::string_view t) const { append_bulk_string(out_, t); }
  void say(std::int64_t n) const { append_number(out_, n); }
  void say(const owner_id& owner) const {
    const auto digits = owner.hex_digits();
    say(std::string_view{digits.data(), digits.size()});
  }
  void begin(const script& s, std::size_t arguments) const {
    begin_call(out_, s, in_full_, 1, arguments + (is_paused_ ? 1 : 0));
    append_keys(out_, of_.in_->prefix, name_of(of_.request_));
  }
  void begin_joint(const script& s, const tickets::request& r, std::size_t arguments) const {
    const auto names = names_of(r);
    begin_call(out_, s, in_full_, names.size(), arguments + (is_paused_ ? 1 : 0));
    for (const std::string_view each : names) append_keys(out_, of_.in_->prefix, each);
  }
  /// A claim of several that is not like the first.
  void say_other(const store::claim& c) const {
    std::string all = c.owner.hex();
    const std::int64_t capacity = takes_all(c) ? 0 : store::capacity_of(c);
    for (const std::int64_t part : {milliseconds_in(store_ttl(c)), capacity, store::weight_of(c)})
      all.append(" ").append(std::to_string(part));
    say(all.append(" ").append(claim_text(c)));
  }
  void say_claim(const script& s, const store::claim& c, bool wait, std::uint64_t proof,
                 std::optional<fencing_token> vote) const;
  [[nodiscard]] std::string claim_text(const store::claim& c, std::uint64_t proof = 0,
                                       std::optional<fencing_token> vote = std::nullopt) const;
  /// A claim that is found begins a new ttl, because an earlier request may have been carried out late, and
  /// its ttl began at a time unknown to the client. Also, WAIT waits for writes of this connection: a script
  /// without a write gives replicas nothing to acknowledge.
  void say_look(const store::hold& h, std::string_view token) const {
    begin({text::look_sha1, text::look}, 4);
    say(h.owner);
    say(token);
    say(milliseconds_in(h.ttl));
    say(keep_);
  }
  void say_ballot(const script& s, const store::hold& h, std::string_view number_or_grant) const {
    begin(s, 4);
    say(h.owner);
    say(milliseconds_in(h.ttl));
    say(keep_);
    say(number_or_grant);
  }
  void say_end(const script& s, const owner_id& owner, std::size_t more_arguments) const {
    begin(s, 2 + more_arguments);
    say(owner);
    say(keep_);
  }
  void say_wish(std::string_view owner, fencing_token first, fencing_token last,
                std::string_view reason) const {
    begin({text::request_release_sha1, text::request_release}, 4);
    say(owner);
    say(text_of(first));
    say(text_of(last));
    say(std::string{release_request_mark} + json_text(reason));
  }

  const request_fsm& of_;
  std::string& out_;
  const bool in_full_;
  const bool is_paused_;
  const std::int64_t keep_;
};

void request_fsm::speaker::say_claim(const script& s, const store::claim& c, bool wait, std::uint64_t proof,
                                     std::optional<fencing_token> vote) const {
  begin(s, (takes_all(c) ? 5 : 7) + (vote ? 1 : 0));
  say(c.owner);
  say(milliseconds_in(store_ttl(c)));
  say(keep_);
  say(wait ? "1" : "0");
  say(claim_text(c, proof, vote));
  if (vote) say(text_of(*vote));
  if (takes_all(c)) return;
  say(store::capacity_of(c));
  say(store::weight_of(c));
}

/// The text that the server keeps, behind token, owner and time: see lua/claims.lua.
std::string request_fsm::speaker::claim_text(const store::claim& c, std::uint64_t proof,
                                             std::optional<fencing_token> vote) const {
  const auto client = of_.client_.hex_digits();
  std::string claim;
  claim.reserve(160 + store::text_of(c.metadata).size());
  claim.append(client.data(), client.size());
  if (of_.channels_ != nullptr)
    claim.append("{").append(tag_in(slot_of(of_.in_->prefix + c.name))).append("}");
  const auto add = [&claim](char before, auto number, int base) {
    std::array<char, 24> text{before};
    claim.append(text.data(), std::to_chars(text.data() + 1, text.data() + text.size(), number, base).ptr);
  };
  if (proof != 0) add('/', proof, 16);
  for (const std::int64_t part : {store::weight_of(c), store::capacity_of(c), milliseconds_in(store_ttl(c))})
    add(' ', part, 10);
  claim += ' ';
  if (vote) {
    claim.append("=").append(text_of(fencing_token{}));
    claim.append("/").append(std::to_string(of_.in_->oldest_number().count())).append(" ");
  }
  claim += store::text_of(c.metadata);
  return claim;
}

void request_fsm::say_script(std::string& out, bool in_full) const {
  const speaker says{*this, out, in_full};
  std::visit(says, request_);
  says.end();
}

std::vector<std::string_view> all_scripts(const dialect& in) {
  if (in.votes) {
    return {quorum_text::claim,    quorum_text::yield, quorum_text::accept,    quorum_text::end_hold,
            quorum_text::release,  text::renew,        quorum_text::downgrade, quorum_text::annotate,
            text::request_release, text::inspect};
  }
  return {text::acquire,   text::look,        text::release,         text::renew,
          text::downgrade, text::annotate,    text::request_release, text::force_release,
          text::inspect,   text::acquire_all, text::release_all};
}

namespace {

std::optional<std::uint64_t> number_in(std::string_view digits, int base) {
  std::uint64_t n = 0;
  const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), n, base);
  if (problem != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  return n;
}

}  // namespace

std::optional<store::notification> read_notification(std::string_view payload) {
  const std::size_t first = payload.find(' ');
  const std::size_t second = payload.find(' ', first + 1);
  if (first == std::string_view::npos || second == std::string_view::npos) return std::nullopt;
  const std::string_view kind = payload.substr(0, first);
  const auto owner = owner_id::from_hex(payload.substr(first + 1, second - first - 1));
  // "token", "token/secret", or, of one of several servers, "token/secret grant accepted fence"
  std::string_view rest = payload.substr(second + 1);
  std::array<std::optional<std::uint64_t>, 5> numbers{};
  std::size_t count = 0;
  for (bool is_last = false; !is_last; ++count) {
    const std::size_t end = rest.find(count == 0 ? '/' : ' ');
    is_last = end == std::string_view::npos;
    if (count == numbers.size()) return std::nullopt;
    numbers.at(count) = number_in(rest.substr(0, end), count == 1 ? 16 : 10);
    if (!numbers.at(count)) return std::nullopt;
    if (!is_last) rest.remove_prefix(end + 1);
  }
  if (!owner || count == 3 || count == 4) return std::nullopt;
  store::notification n;
  n.owner = *owner;
  n.token = fencing_token{*numbers[0]};
  n.proof = numbers[1].value_or(0);
  n.grant = numbers[2].value_or(0);
  n.accepted = fencing_token{numbers[3].value_or(0)};
  n.fence = fencing_token{numbers[4].value_or(0)};
  if (kind == "granted")
    n.kind = store::notification_kind::granted;
  else if (kind == "revoked")
    n.kind = store::notification_kind::revoked;
  else if (kind == "look")
    n.kind = store::notification_kind::look;
  else if (kind == "asked")
    n.kind = store::notification_kind::release_requested;
  else
    return std::nullopt;
  return n;
}

}  // namespace holdfast::redis
