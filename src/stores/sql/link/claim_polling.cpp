// SPDX-License-Identifier: Apache-2.0
#include "stores/sql/link/claim_polling.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include "stores/sql/protocol/notification.hpp"

namespace holdfast::sql {

namespace {

using namespace std::chrono_literals;

constexpr duration shortest = 10ms;

}  // namespace

claim_polling::claim_polling(store::scheduler& time, const owner_id& client, polling_settings settings,
                             duration answer_limit, actions with)
    : time_{time},
      client_{client},
      settings_{settings},
      answer_limit_{answer_limit},
      act_{std::move(with)},
      interval_{std::min(shortest, settings.longest)} {}

void claim_polling::sent(const tickets::request& request) {
  if (const auto* const ended = std::get_if<tickets::withdraw>(&request)) remove(ended->owner);
}

/// What an answer means for those that wait.
struct claim_polling::reader {
  claim_polling& of;
  const tickets::link::outcome& outcome;

  void operator()(const tickets::acquire& r) const { place(store::hold_of(*r.claim, {})); }
  void operator()(const tickets::find& r) const { place(r); }
  void operator()(const tickets::look& r) const { place(r); }
  void operator()(const tickets::renew& r) const {
    if (const auto* const answer = tickets::reply_in<tickets::kept>(outcome)) of.poll_holds(r, *answer);
  }
  void operator()(const store::hold& ended) const { of.look_soon({ended.name}); }
  void operator()(const tickets::force_release& r) const { of.look_soon({r.name}); }
  void operator()(const tickets::release_all& r) const { of.look_soon(tickets::names_of(r)); }
  void operator()(const tickets::acquire_all& /*r*/) const {}
  void operator()(const tickets::request_release& /*r*/) const {}
  void operator()(const tickets::inspect& /*r*/) const {}
  void operator()(const tickets::list& /*r*/) const {}

 private:
  void place(store::hold claim) const {
    const auto* const at = tickets::reply_in<tickets::place>(outcome);
    if (at != nullptr && !at->granted) {
      claim.token = at->token;
      of.add(claim);
    } else if (!std::holds_alternative<store::request_error>(outcome)) {
      of.remove(claim.owner);
    }
  }
};

void claim_polling::answered(const tickets::request& request, const tickets::link::outcome& outcome) {
  std::visit(reader{*this, outcome}, request);
}

void claim_polling::begin_anew() {
  unanswered_since_.reset();
  if (!names_.empty()) poll_soon(shortest);
}

void claim_polling::stop() {
  time_.cancel(std::exchange(next_, 0));
  waiting_.clear();
  names_.clear();
}

// ---- what waits

void claim_polling::add(const store::hold& claim) {
  const auto token = static_cast<std::int64_t>(claim.token.value());
  const auto found = waiting_.find(claim.owner);
  if (found != waiting_.end() && found->second.token == token) return;
  remove(claim.owner);
  waiting_.emplace(claim.owner, poll_question::place{claim.name, token});
  names_[claim.name].insert(token);
  poll_soon(shortest);
}

void claim_polling::remove(const owner_id& owner) {
  const auto found = waiting_.find(owner);
  if (found == waiting_.end()) return;
  const auto tokens = names_.find(found->second.name);
  tokens->second.erase(tokens->second.find(found->second.token));
  if (tokens->second.empty()) names_.erase(tokens);
  waiting_.erase(found);
}

/// Those who wait for it in this client may have been granted it.
void claim_polling::look_soon(const std::vector<std::string_view>& freed) {
  const bool is_waited_for = std::any_of(freed.begin(), freed.end(),
                                         [this](std::string_view name) { return names_.contains(name); });
  if (is_waited_for) poll_soon(duration::zero());
}

// ---- polls

/// Within that time, and then at short intervals. However often that is wanted, the next poll is not put off.
void claim_polling::poll_soon(duration within) {
  interval_ = std::min(shortest, settings_.longest);
  const auto latest = time_.now() + std::min(within, interval_);
  if (next_ == 0 || latest < due_) poll_at(latest);
}

void claim_polling::poll_at(store::time_point due) {
  time_.cancel(next_);
  due_ = due;
  next_ = time_.at(due, [this] {
    next_ = 0;
    poll();
  });
}

/// With jitter, so that many clients do not poll at once.
void claim_polling::poll() {
  if (names_.empty()) return;
  const auto now = time_.now();
  if (!unanswered_since_ || now > *unanswered_since_ + answer_limit_) {
    std::vector<poll_question::place> places;
    auto each = names_.upper_bound(last_name_);
    for (std::size_t left = std::min(names_.size(), most_polled); left > 0; --left, ++each) {
      if (each == names_.end()) each = names_.begin();
      places.push_back({each->first, *each->second.begin()});
    }
    last_name_ = places.back().name;
    unanswered_since_ = now;
    ask(std::move(places), false);
    act_.flush();
  }
  const auto half = interval_ / 2;
  const auto jitter =
      static_cast<std::int64_t>(time_.random() % static_cast<std::uint64_t>(half.count() + 1));
  poll_at(now + half + duration{jitter});
  interval_ = std::min(interval_ * 2, settings_.longest);
}

void claim_polling::poll_holds(const tickets::renew& of, const tickets::kept& answer) {
  std::vector<poll_question::place> places;
  for (std::size_t i = 0; i < of.holds.size(); ++i) {
    const store::hold& each = of.holds[i];
    if (answer.each.at(i)) places.push_back({each.name, static_cast<std::int64_t>(each.token.value())});
    if (places.size() < most_polled && i + 1 < of.holds.size()) continue;
    if (!places.empty()) ask(std::exchange(places, {}), true);
  }
}

void claim_polling::ask(std::vector<poll_question::place> places, bool is_held) {
  std::vector<row>& seen = is_held ? seen_held_ : seen_waiting_;
  act_.send(settings_.question({client_, std::move(places), is_held, seen}),
            [this, is_held, &seen](const std::vector<row>* rows) {
              if (!is_held) unanswered_since_.reset();
              if (rows != nullptr) take_in(*rows, seen);
            });
}

/// Rows of an unexpected form are those of a routine that is not ours: the claims look by themselves.
void claim_polling::take_in(const std::vector<row>& rows, std::vector<row>& seen) {
  seen.clear();
  bool is_news = false;
  for (const row& each : rows) {
    const auto owner = each.size() == 2 ? owner_id::from_bytes(text_at(each, 0)) : std::nullopt;
    if (!owner) continue;
    seen.push_back(each);
    const std::int64_t token = number_at(each, 1);
    is_news = is_news || (token > 0 && waiting_.contains(*owner));
    act_.notify(notification_of(*owner, token));
  }
  if (is_news && !names_.empty()) poll_soon(shortest);
}

}  // namespace holdfast::sql
