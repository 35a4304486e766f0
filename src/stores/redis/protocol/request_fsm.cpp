#include "stores/redis/protocol/request_fsm.hpp"

#include <algorithm>
#include <charconv>

#include "base/release_request.hpp"
#include "stores/redis/protocol/keys.hpp"
#include "stores/redis/protocol/quorum_scripts.hpp"
#include "stores/redis/protocol/replies.hpp"
#include "stores/redis/protocol/resp.hpp"
#include "stores/redis/protocol/script_call.hpp"
#include "stores/redis/protocol/scripts.hpp"
#include "stores/redis/protocol/server_errors.hpp"

namespace holdfast::redis {

using tickets::place;
using tickets::reply;
using tickets::task;

namespace {

/// The format in which the scripts write and compare a token.
std::string text_of(fencing_token token) {
  const std::string digits = std::to_string(token.value());
  return std::string(20 - digits.size(), '0') + digits;
}

/// Rounded up: the server must not end a hold before the client does.
std::int64_t milliseconds_in(duration d) { return std::chrono::ceil<std::chrono::milliseconds>(d).count(); }

/// Whether the claim is exclusive: then its script needs neither capacity nor weight.
bool takes_all(const tickets::request& claim) {
  return claim.weight == store::full_capacity && claim.capacity == store::full_capacity;
}

/// Whether a script may grant, and takes the argument that forbids it.
bool may_grant(task kind) {
  return kind != task::renew && kind != task::annotate && kind != task::request_release &&
         kind != task::inspect && kind != task::list;
}

/// The last argument of a script that is to grant nothing.
std::string paused_argument(const failover_guard::pause& of) {
  return "paused " + std::to_string(of.ends.count());
}

store::request_error nonsense() {
  return {{errc::corrupt_store, "the server's reply has not the form that the script returns"}, false, true};
}

}  // namespace

request_fsm::request_fsm(tickets::request request, const dialect& in, const owner_id& client)
    : request_{std::move(request)}, in_{&in}, client_{client} {
  if (request_.kind == task::inspect) {
    if (request_.listed == nullptr) request_.listed = std::make_shared<inspection>(request_.waiters_read);
    inspection_ = std::static_pointer_cast<inspection>(request_.listed);
  }
  if (request_.kind != task::list) return;
  listing_ = std::static_pointer_cast<listing>(request_.listed);
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
    switch (stage_) {
      case stage::scan: return hear_scan(first);
      default: return hear_script(first);
    }
  } catch (const misunderstood&) {
    return nonsense();
  }
}

std::optional<request_fsm::outcome> request_fsm::give_up(store::time_point now, bool has_to_ask) const {
  if (stage_ != stage::text) return std::nullopt;
  const bool is_late = tickets::is_too_late(request_, now);
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
    is_between_servers_ = request_.kind == task::renew && error.starts_with("TRYAGAIN ");
  }
  if (t.reason.code != errc::wrong_type || request_.name.empty()) return t;
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
  if (!inspection_->hear(request_.name, reply)) return tickets::reply{tickets::more{inspection_}};
  return explain_pause(outcome{tickets::reply{inspection_->take()}});
}

std::optional<request_fsm::outcome> request_fsm::hear_script(const value& reply) {
  if (request_.kind == task::inspect) return hear_inspection(reply);
  outcome o = explain_pause(outcome_of(request_, reply));
  const auto* heard = std::get_if<tickets::reply>(&o);
  const auto* at = heard != nullptr ? std::get_if<place>(heard) : nullptr;
  if (at != nullptr && !at->granted && !is_placed_ && channels_ != nullptr && !is_listening()) {
    is_placed_ = true;
    request_.kind = task::look;
    request_.token = at->token;
    stage_ = stage::script;
    return std::nullopt;
  }
  if (is_placed_ && std::holds_alternative<tickets::reply>(o) && at == nullptr) {
    return store::request_error{
        {errc::unavailable, "the claim has ended before the client could wait for it"}, true, true};
  }
  if (in_->replicas == 0 || at == nullptr || !at->granted) return o;
  granted_ = *at;
  stage_ = stage::replicas;
  return std::nullopt;
}

/// Says why nobody is granted.
request_fsm::outcome request_fsm::explain_pause(outcome of_script) const {
  auto* const heard = std::get_if<tickets::reply>(&of_script);
  if (!paused_ || heard == nullptr) return of_script;
  if (auto* const none = std::get_if<tickets::paused>(heard)) none->reason = paused_->reason;
  if (auto* const at = std::get_if<place>(heard); at != nullptr && !at->granted) {
    at->pause = paused_->reason;
    at->holder_left = paused_->left;
  }
  if (auto* const state = std::get_if<std::optional<lock_state>>(heard)) {
    if (!*state) {
      state->emplace();
      (*state)->name = request_.name;
    }
    (*state)->paused_for = paused_->left;
    (*state)->pause_reason = paused_->reason.message;
  }
  return of_script;
}

/// A grant that too few replicas acknowledged stays at the server. The machine looks for it again, which
/// writes the grant again and is followed by another WAIT. The grant is not released here: such a release
/// could arrive late, over a connection that has broken meanwhile, and end a hold that a client relies on by
/// then. A withdrawn claim is never looked for again.
request_fsm::outcome request_fsm::hear_replicas(const value& reply) const {
  if (reply.is(value::kind::number) && reply.number >= std::int64_t{in_->replicas}) {
    return tickets::reply{granted_};
  }
  return store::request_error{
      {errc::unavailable, "the lock was granted and is withdrawn: fewer than " +
                              std::to_string(in_->replicas) + " replicas acknowledged it within " +
                              std::to_string(in_->replicas_wait.count()) + " ms"},
      true,
      false,
      true};
}

request_fsm::outcome request_fsm::hear_scan(const value& reply) {
  return so_far(listing_->hear_scan(reply, *in_));
}

request_fsm::outcome request_fsm::hear_details(const std::vector<value>& replies) {
  const value& first = replies.front();
  if (listing_->follows && first.is(value::kind::error)) redirection_ = redirection_in(first.text);
  if (redirection_) return request_error_of(first.text);
  if (auto problem = listing_->hear_details(replies, *in_, request_.idle)) return std::move(*problem);
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
  if (channels_ == nullptr || request_.kind != task::look || is_listening()) return false;
  const std::uint16_t slot = slot_of(lock_key());
  append(out, {"SSUBSCRIBE", channel_of(client_, slot)});
  channels_->add(slot);
  return true;
}

namespace {

/// The milliseconds for which a name that is not used keeps its fence. One of several servers accepts a
/// number that is ahead of its clock. It must not forget it before the clock has passed it.
std::int64_t keep_of(const dialect& in, const tickets::request& r) {
  const std::int64_t ahead = in.votes ? dialect::furthest_number.count() : 0;
  return std::max<std::int64_t>(in.keep.count(), 2 * milliseconds_in(tickets::longest_ttl(r))) + ahead;
}

}  // namespace

void request_fsm::say_script(std::string& out, bool in_full) const {
  const bool paused = paused_ && may_grant(request_.kind);
  const script s = in_->votes ? voting_script_of(request_.kind, request_.step) : script_of(request_.kind);
  const std::int64_t keep = keep_of(*in_, request_);
  if (request_.kind == task::renew) {
    begin_call(out, s, in_full, request_.batch.size(), 1 + 2 * request_.batch.size());
    for (const store::hold& h : request_.batch) append_keys(out, keys::of(in_->prefix, h.name));
    append_number(out, keep);
    for (const store::hold& h : request_.batch) {
      append_bulk_string(out, h.owner.hex());
      append_number(out, milliseconds_in(h.ttl));
    }
    return;
  }
  const keys k = keys::of(in_->prefix, request_.name);
  const auto begin_with_keys = [&](std::size_t arguments) {
    begin_call(out, s, in_full, 1, arguments + (paused ? 1 : 0));
    append_keys(out, k);
  };
  switch (request_.kind) {
    case task::acquire:
      begin_with_keys((takes_all(request_) ? 5 : 7) + (in_->votes ? 1 : 0));
      say_claim(out, keep);
      break;
    case task::find:
    case task::look:
      if (in_->votes) {
        begin_with_keys(4);
        append_bulk_string(out, request_.owner.hex());
        append_number(out, milliseconds_in(request_.ttl));
        append_number(out, keep);
        append_bulk_string(out, request_.step == tickets::ballot_step::yield ? std::to_string(request_.grant)
                                                                             : text_of(request_.token));
        break;
      }
      begin_with_keys(4);
      append_bulk_string(out, request_.owner.hex());
      if (request_.token)
        append_bulk_string(out, text_of(request_.token));
      else
        append_bulk_string(out, "");
      // A claim that is found begins a new ttl, because an earlier request may have been carried out late,
      // and its ttl began at a time unknown to the client. Also, WAIT waits for writes of this connection: a
      // script without a write gives replicas nothing to acknowledge.
      append_number(out, milliseconds_in(request_.ttl));
      append_number(out, keep);
      break;
    case task::release:
    case task::withdraw:
      begin_with_keys(2 + (in_->votes ? 1 : 0) + (request_.met_foreign ? 1 : 0));
      append_bulk_string(out, request_.owner.hex());
      append_number(out, keep);
      if (in_->votes) append_bulk_string(out, text_of(request_.last));
      if (request_.met_foreign) append_bulk_string(out, "foreign");
      break;
    case task::downgrade:
      begin_with_keys(2);
      append_bulk_string(out, request_.owner.hex());
      append_number(out, keep);
      break;
    case task::annotate:
      begin_with_keys(2);
      append_bulk_string(out, request_.owner.hex());
      append_bulk_string(out, metadata_of(request_));
      break;
    case task::request_release:
      begin_with_keys(4);
      // At one of several servers a hold is known by its owner: its token there may be another.
      append_bulk_string(out, in_->votes ? request_.owner.hex() : std::string{});
      append_bulk_string(out, text_of(request_.token));
      append_bulk_string(out, text_of(request_.last));
      append_bulk_string(out, std::string{release_request_mark} + quoted_reason(metadata_of(request_)));
      break;
    case task::force_release:
      if (in_->votes) {
        begin_with_keys(3);
        append_bulk_string(out, request_.owner.hex());
        append_number(out, keep);
        append_bulk_string(out, text_of(request_.last));
        break;
      }
      begin_with_keys(3);
      append_number(out, keep);
      append_bulk_string(out, text_of(request_.token));
      append_bulk_string(out, text_of(request_.last));
      break;
    default: begin_with_keys(inspection::argument_count); inspection_->append_arguments(out);
  }
  if (paused) append_bulk_string(out, paused_argument(*paused_));
}

void request_fsm::say_claim(std::string& out, std::int64_t keep) const {
  const std::string ttl = std::to_string(milliseconds_in(request_.ttl));
  append_bulk_string(out, request_.owner.hex());
  append_bulk_string(out, ttl);
  append_number(out, keep);
  append_bulk_string(out, request_.wait ? "1" : "0");
  std::string claim = client_.hex();
  if (channels_ != nullptr) claim.append("{").append(tag_in(slot_of(lock_key()))).append("}");
  for (const std::string& part : {std::to_string(request_.weight), std::to_string(request_.capacity), ttl})
    claim.append(" ").append(part);
  claim += ' ';
  if (in_->votes) {
    claim.append("=").append(text_of(fencing_token{}));
    claim.append("/").append(std::to_string(in_->oldest_number().count())).append(" ");
  }
  claim += metadata_of(request_);
  append_bulk_string(out, claim);
  if (in_->votes) append_bulk_string(out, text_of(request_.token));
  if (takes_all(request_)) return;
  append_number(out, request_.capacity);
  append_number(out, request_.weight);
}

std::vector<std::string_view> all_scripts(const dialect& in) {
  if (in.votes) {
    return {quorum_text::claim,    quorum_text::yield, quorum_text::accept,    quorum_text::end_hold,
            quorum_text::release,  text::renew,        quorum_text::downgrade, quorum_text::annotate,
            text::request_release, text::inspect};
  }
  return {text::acquire,         text::look,          text::release,
          text::renew,           text::downgrade,     text::annotate,
          text::request_release, text::force_release, text::inspect};
}

std::optional<store::notification> read_notification(std::string_view payload, const dialect& in) {
  const std::size_t first = payload.find(' ');
  const std::size_t second = payload.find(' ', first + 1);
  if (first == std::string_view::npos || second == std::string_view::npos) return std::nullopt;
  const std::string_view kind = payload.substr(0, first);
  const auto owner = owner_id::from_hex(payload.substr(first + 1, second - first - 1));
  const std::string_view digits = payload.substr(second + 1);
  std::uint64_t token = 0;
  const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), token);
  if (!owner || problem != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  store::notification n;
  n.owner = *owner;
  n.token = fencing_token{token};
  if (kind == "granted")
    n.kind = in.replicas == 0 ? store::notification_kind::granted : store::notification_kind::look;
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
