// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include "core/call.hpp"
#include "core/request.hpp"
#include "core/results.hpp"
#include "holdfast/error.hpp"
#include "holdfast/state.hpp"

namespace holdfast::tickets {

// What a client asks a store beside its claims; see call.

/// Most questions end with the first refusal.
struct ends_with_a_refusal {
  [[nodiscard]] static bool outlasts(const failure& /*refusal*/) { return false; }
};

/// The failure of a request that changes something, and may have been carried out.
[[nodiscard]] inline failure of_a_change(const store::request_error& reason) {
  return {reason.maybe_executed ? make_error_code(errc::unknown_outcome) : reason.reason.code,
          reason.reason.message};
}

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

/// Changes an exclusive hold: makes it a shared one, or replaces its metadata.
template <class Change>
struct changing : ends_with_a_refusal {
  using result = std::optional<failure>;

  [[nodiscard]] request next(store::time_point /*now*/) const { return change; }
  [[nodiscard]] verdict<result> read(const reply& r, store::time_point /*sent*/, bool /*doubted*/) const {
    if (std::holds_alternative<done>(r)) return result{};
    return result{failure{errc::lost, "the store no longer has it"}};
  }
  [[nodiscard]] result give_up(const store::request_error& reason) const { return of_a_change(reason); }

  Change change;
};

/// Reads the claims of a name, or the names, in as many requests as the store needs.
template <class Look, class Seen>
struct looking : ends_with_a_refusal {
  using result = store::answer<Seen>;

  [[nodiscard]] request next(store::time_point /*now*/) const { return look; }
  [[nodiscard]] verdict<result> read(const reply& r, store::time_point /*sent*/, bool /*doubted*/) {
    if (const auto* const received = std::get_if<more>(&r)) {
      look.listed = received->listed;
      return part{received->progress};
    }
    return result{std::get<Seen>(r)};
  }
  [[nodiscard]] result give_up(const store::request_error& reason) const { return reason.reason; }

  Look look;
};
using inspecting = looking<inspect, std::optional<lock_state>>;
using listing = looking<list, std::vector<lock_summary>>;

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
