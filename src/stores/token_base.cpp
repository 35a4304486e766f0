// SPDX-License-Identifier: Apache-2.0
#include "stores/token_base.hpp"

#include <concepts>
#include <string>
#include <utility>
#include <variant>

#include "holdfast/error.hpp"

namespace holdfast::stores {

namespace {

using tickets::last_token;

template <class Kind, class... Kinds>
concept one_of = (std::same_as<Kind, Kinds> || ...);

// ---- all tokens of a request or a reply, whatever its kind. A new kind does not compile until it stands
// here.

/// Calls `change` with each token, and with both ends of a range.
template <class Change>
struct tokens_of {
  Change change;

  void operator()(fencing_token& one) const { change(one); }
  template <class Value>
  void operator()(std::optional<Value>& one) const {
    if (one) (*this)(*one);
  }
  template <class Value>
  void operator()(std::vector<Value>& all) const {
    for (Value& each : all) (*this)(each);
  }
  template <class... Kinds>
  void operator()(std::variant<Kinds...>& any) const {
    std::visit(*this, any);
  }

  template <std::derived_from<store::hold> Request>
  void operator()(Request& of) const {
    change(of.token);
  }
  template <one_of<tickets::renew, tickets::release_all> Request>
  void operator()(Request& of) const {
    (*this)(of.holds);
  }
  template <one_of<tickets::force_release, tickets::request_release> Request>
  void operator()(Request& of) const {
    change(of.first, of.last);
  }
  template <one_of<tickets::acquire, tickets::acquire_all, tickets::inspect, tickets::list> Request>
  void operator()(Request& /*has_none*/) const {}

  void operator()(tickets::place& of) const {
    change(of.token);
    (*this)(of.vote);
  }
  void operator()(tickets::refused& of) const { (*this)(of.vote); }
  void operator()(tickets::ballot& of) const {
    change(of.accepted);
    change(of.fence);
  }
  void operator()(tickets::several& of) const { (*this)(of.each); }
  void operator()(claim_state& of) const { change(of.token); }
  void operator()(lock_state& of) const {
    change(of.last_token);
    (*this)(of.holders);
    (*this)(of.waiters);
  }
  void operator()(lock_summary& of) const {
    change(of.last_token);
    change(of.holder_token);
  }
  void operator()(store::notification& of) const {
    change(of.token);
    change(of.accepted);
    change(of.fence);
  }
  template <one_of<tickets::nothing, tickets::done, tickets::paused, tickets::other_capacity, tickets::kept,
                   tickets::count, tickets::more>
                Reply>
  void operator()(Reply& /*has_none*/) const {}
};
template <class Change>
tokens_of(Change) -> tokens_of<Change>;

// ---- what becomes of them

/// From a request to the store. Of the store's own tokens none is `last_token`, in practice.
struct lowering {
  std::uint64_t base;

  void operator()(fencing_token& one) const {
    if (one) one = one.value() > base ? fencing_token{one.value() - base} : last_token;
  }
  /// A range that begins with zero includes holds without a token; others begin with the store's first.
  void operator()(fencing_token& first, fencing_token& last) const {
    const bool is_of_none = first && last.value() <= base;
    if (first) first = fencing_token{first.value() > base ? first.value() - base : 1};
    if (last != last_token) last = fencing_token{last.value() > base ? last.value() - base : 0};
    if (is_of_none) first = last = last_token;
  }
};

/// From the store.
struct raising {
  std::uint64_t base;
  std::uint64_t& excess;  // the last token of the store that the base makes too large; zero: none

  void operator()(fencing_token& one) const {
    if (!one) return;
    if (one.value() > last_token.value() - base) {
      excess = one.value();
    } else {
      one = fencing_token{one.value() + base};
    }
  }
};

/// In place of a reply. A claim that got it is withdrawn.
store::request_error too_large(std::uint64_t token, std::uint64_t base, const tickets::link::outcome& o) {
  const auto* const at = tickets::reply_in<tickets::place>(o);
  return {{errc::corrupt_store, "the store's token " + std::to_string(token) + " and the URL's token_base=" +
                                    std::to_string(base) + " add up to more than the largest token, " +
                                    std::to_string(last_token.value())},
          false,
          true,
          at != nullptr && at->granted};
}

}  // namespace

std::uint64_t take_token_base(store_url& url) {
  return static_cast<std::uint64_t>(url.take_number("token_base", 0, 0, largest_token_base));
}

token_base_link::token_base_link(std::unique_ptr<tickets::link> of_store, std::uint64_t base)
    : store_{std::move(of_store)}, base_{base} {}

void token_base_link::send(tickets::request request, on_reply done) {
  tokens_of{lowering{base_}}(request);
  on_reply from_store{done.request, [base = base_, done = std::move(done)](outcome&& o) {
                        std::uint64_t excess = 0;
                        if (auto* const received = std::get_if<tickets::reply>(&o))
                          tokens_of{raising{base, excess}}(*received);
                        if (excess != 0) o = too_large(excess, base, o);
                        done(std::move(o));
                      }};
  store_->send(std::move(request), std::move(from_store));
}

/// One with a token that is too large says nothing but that there is something to ask.
void token_base_link::on_notifications(on_notification handler) {
  store_->on_notifications([base = base_, handler = std::move(handler)](store::notification n) {
    std::uint64_t excess = 0;
    tokens_of{raising{base, excess}}(n);
    handler(excess == 0 ? n : store::notification{n.owner, store::notification_kind::look, {}});
  });
}

}  // namespace holdfast::stores
