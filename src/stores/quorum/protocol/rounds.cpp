// SPDX-License-Identifier: Apache-2.0
#include "stores/quorum/protocol/rounds.hpp"

#include "stores/quorum/protocol/problem_list.hpp"

namespace holdfast::quorum {

struct rounds::round {
  outcomes all;
  decision decide;
  on_reply done;  // null: answered
  std::function<void(std::size_t server)> failed;
  store::scheduler::timer limit = 0;
  std::size_t due = 0;
};

rounds::rounds(store::scheduler& on, const voting_terms& of, transport& to)
    : scheduler_{on},
      terms_{of},
      to_{to},
      clocks_{of.places.size()},
      answered_(of.places.size()),
      is_silent_(of.places.size()) {}

store::scheduler::timer rounds::at(time_point when, std::function<void()> action) {
  return scheduler_.at(when, [action = std::move(action), alive = alive_] {
    if (*alive) action();
  });
}

void rounds::soon(std::function<void()> action) {
  to_.soon([action = std::move(action), alive = alive_] {
    if (*alive) action();
  });
}

void rounds::send_to(std::size_t server, ballots::request r, on_reply done) {
  const time_point sent = now();
  const auto* const renewal = ballots::get_if<tickets::renew>(r);
  const bool ends = is_release(r) || (renewal != nullptr && renewal->is_last);
  if (ends) {
    ++endings_;
    last_ending_ = sent;
  }
  on_reply noted{done.request,
                 [this, server, sent, ends, done = std::move(done), alive = alive_](outcome&& o) {
                   if (!*alive) return;
                   note_answer(server, sent, o);
                   done(std::move(o));  // which may send another withdrawal
                   if (*alive && ends && --endings_ == 0) deliver();
                 }};
  to_.send_to(server, std::move(r), std::move(noted));
}

void rounds::when_delivered(std::function<void()> action) {
  delivered_ = std::move(action);
  deliver();
  if (delivered_) at(last_ending_ + terms_.silence, [this] { deliver(); });
}

void rounds::deliver() {
  const bool is_due = endings_ == 0 || now() >= last_ending_ + terms_.silence;
  if (is_due && delivered_) std::exchange(delivered_, nullptr)();
}

void rounds::note_answer(std::size_t server, time_point sent, outcome& o) {
  is_silent_.at(server) = false;
  if (auto* const failed = std::get_if<store::request_error>(&o)) {
    failed->reason.message = with_place(terms_.places[server], std::move(failed->reason.message));
    return;
  }
  answered_.at(server) = true;
  const auto& reply = std::get<tickets::reply>(o);
  const auto* const at = std::get_if<tickets::place>(&reply);
  const auto* const none = std::get_if<tickets::refused>(&reply);
  if (at != nullptr && at->vote) clocks_.hear(server, at->vote->clock, sent, now());
  if (none != nullptr && none->vote) clocks_.hear(server, none->vote->clock, sent, now());
}

void rounds::ask_all(const ballots::request& r, decision decide, on_reply done,
                     std::function<void(std::size_t)> failed) {
  const auto all = std::make_shared<round>();
  all->all.resize(servers());
  all->decide = std::move(decide);
  all->done = std::move(done);
  all->failed = std::move(failed);
  all->due = servers();
  if (all->done) limit(all, now());
  for (std::size_t i = 0; i < servers(); ++i) send_part(all, i, r);
}

/// Ends the round after the silence; if the client may have to connect first, when it has had the time to.
void rounds::limit(const std::shared_ptr<round>& all, time_point begun) {
  all->limit = after(terms_.silence, [this, all, begun] {
    all->limit = 0;
    if (!all->done) return;
    const auto replies = std::count_if(all->all.begin(), all->all.end(), [](const auto& o) {
      return o && std::holds_alternative<tickets::reply>(*o);
    });
    const bool may_connect = !is_known() && now() < begun + terms_.connecting;
    if (static_cast<std::size_t>(replies) < majority() && may_connect) return limit(all, begun);
    for (std::size_t i = 0; i < servers(); ++i)
      if (!all->all[i]) is_silent_[i] = true;
    auto o = all->decide(all->all, true);
    std::exchange(all->done, nullptr)(o ? std::move(*o) : outcome{too_few(all->all)});
  });
}

void rounds::send_part(const std::shared_ptr<round>& all, std::size_t server, ballots::request r) {
  on_reply part{all->done.request, [this, all, server, r](const outcome& o) mutable {
                  auto* const plain = std::get_if<tickets::request>(&r);
                  auto* const listed = plain == nullptr ? nullptr : tickets::listed_in(*plain);
                  if (const auto* next = reply_in<tickets::more>(o);
                      listed != nullptr && next != nullptr && all->done) {
                    *listed = next->listed;
                    cancel(all->limit);
                    limit(all, now());
                    return send_part(all, server, std::move(r));
                  }
                  all->all[server] = o;
                  if (all->failed && std::holds_alternative<store::request_error>(o)) all->failed(server);
                  const bool is_last = --all->due == 0;
                  auto decided = all->decide(all->all, is_last);
                  if (!all->done) return;
                  if (!decided && is_last) decided = too_few(all->all);
                  if (!decided) return;
                  cancel(all->limit);
                  std::exchange(all->done, nullptr)(std::move(*decided));
                }};
  send_to(server, std::move(r), std::move(part));
}

bool rounds::is_known() const {
  return static_cast<std::size_t>(std::count(answered_.begin(), answered_.end(), true)) >= majority();
}

bool rounds::has_failed(const outcomes& all) const {
  const auto failed = std::count_if(all.begin(), all.end(), [](const auto& o) {
    return o && std::holds_alternative<store::request_error>(*o);
  });
  return static_cast<std::size_t>(failed) > servers() - majority();
}

store::request_error rounds::too_few(const outcomes& all, bool is_last) const {
  problem_list problems;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto* const failed = all[i] ? std::get_if<store::request_error>(&*all[i]) : nullptr;
    if (failed != nullptr) problems.add(terms_.places[i], *failed);
    if (!all[i] && is_last) problems.add(terms_.places[i], no_answer_of(terms_.places[i]));
  }
  return problems.of_majority(servers());
}

store::request_error rounds::too_few_known() const {
  outcomes heard(servers());
  for (std::size_t i = 0; i < servers(); ++i)
    if (answered_[i]) heard[i] = tickets::reply{tickets::done{}};
  return too_few(heard);
}

bool rounds::is_complete(const outcomes& all) const {
  for (std::size_t i = 0; i < all.size(); ++i)
    if (!all[i] && !is_silent_[i]) return false;
  return true;
}

}  // namespace holdfast::quorum
