// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "core/backoff.hpp"
#include "core/machine.hpp"
#include "core/request.hpp"

namespace holdfast::tickets {

/// When a waiter looks again: a third of the ttl after it was last kept, so that it survives two lost looks;
/// the head of the queue also as soon as a holder's time is up, and every second, because the
/// notification that the lock is free may get lost with the process that was to send it. Behind a holder that
/// notifies nobody the head looks often.
/// \param jitter any 64 random bits: heads of many queues do not look all at once.
[[nodiscard]] store::time_point next_look(const place& at, store::time_point kept, duration ttl,
                                          store::time_point now, std::uint64_t jitter);

/// The machine of one claim, from the first request until it is granted, refused, failed or withdrawn.
///
///     asking --place--> waiting --woken, notification--> looking --place--> waiting ...
///        |                                             \--granted--> (granted)
///        \--unknown--> finding --place--> looking
///                         \--nothing--> asking
///     any --cancelled--> leaving --reply--> withdrawing --done--> (finished)
///
/// A claim that waits is granted by whoever frees capacity, in the same transaction. A notification of that
/// is a hint: anybody may have sent it. It makes the machine look, and the answer to a request of its own is
/// what it believes. The ttl of a grant runs from the time the answered request was sent: a look keeps a
/// place for one more ttl. So the machine looks once more at a claim that it finds again after a lost reply,
/// because an earlier request may have started the ttl, and at one whose grant arrives late.
///
/// A notification that proves the grant saves that look. It has the secret that the claim has brought to the
/// store for this place alone, and comes on the connection on which the place was last kept, so it is later
/// than that: the ttl of the grant runs from the last answered request, too.
class acquisition {
 public:
  using step = store::actions<request, store::acquired>;

  explicit acquisition(store::claim_ptr claim);

  /// \param random unpredictable bits: the proof of a place is made of them.
  [[nodiscard]] step resume(store::time_point now, std::uint64_t random, const store::event<reply>& e);

  /// See port::error_now.
  [[nodiscard]] std::optional<failure> error_at(store::time_point now) const;
  /// The error since the last reply.
  [[nodiscard]] const failure* last_error() const { return trouble_ ? &trouble_->reason : nullptr; }

  [[nodiscard]] const store::claim& claim() const { return *claim_; }
  /// Whether it has been in the queue.
  [[nodiscard]] bool has_waited() const { return progress_ >= progress::queued; }
  /// Whether the last error is what the store answered; otherwise it did not answer.
  [[nodiscard]] bool is_paused() const { return trouble_ && trouble_->is == trouble::paused; }
  /// Whether nobody waited before it when it came into the queue.
  [[nodiscard]] bool came_first() const { return progress_ == progress::queued_first; }

 private:
  /// `leaving`: nobody wants it any more, and a request is under way. `withdrawing`: the withdrawal is.
  enum class state : std::uint8_t { asking, finding, waiting, looking, leaving, withdrawing, over };
  /// The farthest that it has come.
  enum class progress : std::uint8_t { none, granted, queued, queued_first };
  /// What has come in place of the grant since the last reply.
  struct trouble {
    failure reason;
    enum : std::uint8_t { unanswered, paused, doubted } is;  // doubted: granted, and not to be believed yet
  };

  step on_reply(store::time_point now, std::uint64_t random, const reply& r);
  step deny(store::time_point now, std::uint64_t random, const reply& r);
  step on_error(store::time_point now, std::uint64_t random, const store::request_error& t);
  step on_notification(store::time_point now, std::uint64_t random, const store::notification& n);
  step on_woken(store::time_point now, std::uint64_t random);
  step on_cancelled(store::time_point now);
  step give_up();
  [[nodiscard]] store::time_point patience_ends() const;
  [[nodiscard]] bool stands_by() const;
  [[nodiscard]] bool is_late(store::time_point now) const;

  step ask(store::time_point now, std::uint64_t random);
  step look(store::time_point now);
  step leave(store::time_point now);
  step doubt(store::time_point now, std::uint64_t random);
  step take_place(store::time_point now, std::uint64_t random, const place& at);
  step grant(bool is_notified = false);
  step fail(store::time_point now, failure reason);
  step over();
  step send(store::time_point now, state next, tickets::request request);
  static step wake(store::time_point when);
  [[nodiscard]] bool is_proven(store::time_point now, const store::notification& n) const;

  store::claim_ptr claim_;
  store::backoff pause_;
  state state_ = state::asking;
  progress progress_ = progress::none;
  bool in_flight_ = false;
  bool first_ = false;       // a notification said that nobody waits before it
  int claims_ = 0;           // that may be at the store: a request may be carried out after the next
  fencing_token token_;      // of the place in the queue; zero until known
  std::uint64_t proof_ = 0;  // of that place
  store::stream_position answered_at_;  // about that place, the last
  /// Notifications that came while a request was under way, whose reply may be older than they are.
  struct early_notifications {
    fencing_token look;  // something has happened to this place
    bool look_at_any = false;
    fencing_token revoked;  // another client has ended this place
  };
  early_notifications early_;
  int doubts_ = 0;          // looks made because of a revocation, since it was last asked for
  int late_grants_ = 0;     // grants that arrived late
  store::time_point sent_;  // the request under way
  store::time_point withdraws_since_;
  store::time_point kept_;  // the last request known to have started the claim's ttl
  std::optional<trouble> trouble_;
  std::optional<store::time_point>
      silent_since_;  // the first request that has had no answer, or the first doubt
};

}  // namespace holdfast::tickets
