#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "core/call.hpp"
#include "core/request.hpp"
#include "core/results.hpp"

namespace holdfast::tickets {

// What a client asks a store beside its claims; see call.

/// Most questions end with the first refusal.
struct ends_with_a_refusal {
  [[nodiscard]] static bool outlasts(const failure& /*refusal*/) { return false; }
};

/// Renews holds, in one request.
struct renewing : ends_with_a_refusal {
  using result = store::renewals;

  [[nodiscard]] request next(store::time_point now) const;
  [[nodiscard]] verdict<result> read(const reply& r, store::time_point sent, bool doubted) const;
  [[nodiscard]] result give_up(const store::request_error& reason) const;

  std::vector<store::hold> holds;
  store::time_point answer_by;
};

/// Ends a hold: at once by a release, or at a given time, until which the store keeps it. Then it is a last
/// renewal, with the time that is left as its ttl; each try counts anew what is left, and if nothing is left,
/// it is a release.
struct ending {
  using result = store::released;

  [[nodiscard]] request next(store::time_point now) const;
  [[nodiscard]] verdict<result> read(const reply& r, store::time_point sent, bool doubted) const;
  [[nodiscard]] result give_up(const store::request_error& reason) const;
  /// A refusal may be taken back: of rights, or by a server for a reason of its own. What is no lock of ours
  /// any more has ended the hold.
  [[nodiscard]] static bool outlasts(const failure& refusal);

  store::hold hold;
  store::time_point until{};  // it ends then; a time that has passed: at once
};

/// Makes an exclusive hold a shared one.
struct downgrading : ends_with_a_refusal {
  using result = std::optional<failure>;

  [[nodiscard]] request next(store::time_point now) const;
  [[nodiscard]] verdict<result> read(const reply& r, store::time_point sent, bool doubted) const;
  [[nodiscard]] result give_up(const store::request_error& reason) const;

  store::hold hold;
};

/// Replaces the metadata of an exclusive hold.
struct annotating : ends_with_a_refusal {
  using result = std::optional<failure>;

  [[nodiscard]] request next(store::time_point now) const;
  [[nodiscard]] verdict<result> read(const reply& r, store::time_point sent, bool doubted) const;
  [[nodiscard]] result give_up(const store::request_error& reason) const;

  store::hold hold;
  std::shared_ptr<const std::string> metadata;
};

inline constexpr std::size_t all_waiters = std::numeric_limits<std::size_t>::max();

/// Reads the claims of a name, in as many requests as the store needs.
struct inspecting : ends_with_a_refusal {
  using result = store::inspected;

  [[nodiscard]] request next(store::time_point now) const;
  [[nodiscard]] verdict<result> read(const reply& r, store::time_point sent, bool doubted);
  [[nodiscard]] result give_up(const store::request_error& reason) const;

  std::string name;
  std::size_t most_waiters = all_waiters;
  std::shared_ptr<listing_state> listed{};
};

/// Lists the names, in as many requests as the store needs.
struct listing : ends_with_a_refusal {
  using result = store::listed;

  [[nodiscard]] request next(store::time_point now) const;
  [[nodiscard]] verdict<result> read(const reply& r, store::time_point sent, bool doubted);
  [[nodiscard]] result give_up(const store::request_error& reason) const;

  bool idle;
  std::shared_ptr<listing_state> listed{};
};

/// Ends by force the holds that a look has seen, in ranges of tokens that have no others between them, one
/// request each: a claim that is granted later may have a token between those of two holds. So a request that
/// is repeated ends no hold that is granted later.
class forcing : public ends_with_a_refusal {
 public:
  using result = store::forced;

  /// \param token of the one to end; empty: all of them.
  /// \return empty if there is no such hold.
  [[nodiscard]] static std::optional<forcing> of(std::string name, const std::optional<lock_state>& seen,
                                                 std::optional<fencing_token> token);

  [[nodiscard]] request next(store::time_point now) const;
  [[nodiscard]] verdict<result> read(const reply& r, store::time_point sent, bool doubted);
  [[nodiscard]] result give_up(const store::request_error& reason) const;

 private:
  struct range {
    fencing_token first;
    fencing_token last;
  };
  std::string name_;
  std::size_t count_ = 0;
  std::vector<range> ranges_;
  std::size_t ended_ = 0;  // as the store says
  std::size_t parts_done_ = 0;
};

/// Asks holders to release.
struct requesting_release : ends_with_a_refusal {
  using result = store::notified;

  [[nodiscard]] request next(store::time_point now) const;
  [[nodiscard]] verdict<result> read(const reply& r, store::time_point sent, bool doubted) const;
  [[nodiscard]] result give_up(const store::request_error& reason) const;

  std::string name;
  std::optional<fencing_token> token;  // empty: of all holders
  std::string reason;
};

}  // namespace holdfast::tickets
