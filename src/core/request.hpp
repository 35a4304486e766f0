// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/owner_id.hpp"
#include "core/claim.hpp"
#include "core/notification.hpp"
#include "core/results.hpp"

namespace holdfast::tickets {

// The requests to a store that queues claims itself, and its replies to each. Each is carried out atomically.

/// Claims: -> place, refused, other_capacity.
struct acquire {
  store::claim_ptr claim;
  /// A secret of this claim's place in the queue. A store may send it with the notification of the grant, if
  /// nobody but the store can, and those who may write its locks.
  std::uint64_t proof = 0;
};
/// Looks for a claim whose reply was lost, so that its token is not known: -> place, nothing.
struct find : store::hold {};
/// Keeps a waiting claim for another ttl, and serves the queue: -> nothing, or as `acquire`.
struct look : store::hold {};
/// Keeps holds for another ttl each: -> kept.
struct renew {
  std::vector<store::hold> holds;
  /// If a server has refused it, no link sends it again from then on. Its client may have given up the holds.
  store::time_point send_by = store::time_point::max();
  bool is_last = false;  // of one hold: nobody keeps it any more, and it ends with its ttl
};
/// Ends a claim: -> done, nothing.
struct release : store::hold {};
/// As a release, for a token that is not known.
struct withdraw : store::hold {};
/// Several requests in one: see link::joins.
struct joint_request {};
/// Claims that do not wait, in the order of their names, up to the first that is not granted: -> several.
struct acquire_all : joint_request {
  std::vector<store::claim_ptr> claims;
};
/// Ends claims, in the order of their names: -> several.
struct release_all : joint_request {
  std::vector<store::hold> holds;
};
/// From exclusive to shared: -> done, nothing.
struct downgrade : store::hold {};
/// Replaces the metadata of a claim that holds alone: -> done, nothing.
struct annotate : store::hold {
  std::shared_ptr<const std::string> metadata;
};
/// No store grants a larger token.
inline constexpr fencing_token last_token{std::numeric_limits<std::int64_t>::max()};
/// Ends the holds from the first token to the last: -> count.
struct force_release {
  std::string name;
  fencing_token first;
  fencing_token last;
};
/// Asks these holders to release: writes the reason into the metadata of each hold (see
/// base/metadata.hpp), and notifies their clients: -> count.
struct request_release {
  std::string name;
  fencing_token first;
  fencing_token last;
  std::string reason;
};

/// The state of a listing, or an inspection, that takes several requests. Each store derives its own.
struct listing_state {
  listing_state() = default;
  listing_state(const listing_state&) = delete;
  listing_state& operator=(const listing_state&) = delete;
  virtual ~listing_state() = default;
};
/// Reads the claims of a name: -> state, more.
struct inspect {
  std::string name;
  /// Number of waiters to read, from the head of the queue. More may come.
  std::size_t waiters_read = std::numeric_limits<std::size_t>::max();
  std::shared_ptr<listing_state> listed{};  // by the requests before, if it takes several
};
/// Reads all names: -> summaries, more.
struct list {
  bool idle = false;
  std::shared_ptr<listing_state> listed{};
};

using request = std::variant<acquire, find, look, renew, release, withdraw, downgrade, annotate,
                             force_release, request_release, inspect, list, acquire_all, release_all>;

/// Whether the request ends a claim. No caller waits for its reply.
[[nodiscard]] bool is_release(const request& r);
/// Whether the request changes nothing at the store.
[[nodiscard]] bool is_read_only(const request& r);
/// Whether no link sends the request again.
[[nodiscard]] bool is_too_late(const request& r, store::time_point now);
/// The longest that a claim of the request may live.
[[nodiscard]] duration longest_ttl(const request& r);
/// What the requests before have read, of a listing or an inspection; null: the request is neither.
[[nodiscard]] std::shared_ptr<listing_state>* listed_in(request& r);
/// Empty if the request is about several names.
[[nodiscard]] std::string_view name_of(const request& r);
[[nodiscard]] std::vector<std::string_view> names_of(const request& r);
/// The largest number of claims in one request: a server is busy with it for a few milliseconds at most.
inline constexpr std::size_t most_in_one = 64;

/// What one of several servers says of a claim, beside its place there: see
/// stores/quorum/protocol/ballots.hpp.
struct ballot {
  fencing_token accepted;             // as the claim's token; zero: none
  fencing_token fence;                // the largest token that it has accepted of anybody, or its clock
  std::uint64_t grant = 0;            // the number of the grant, for a yield
  bool is_overtaken = false;          // granted, and another claim goes first
  std::string blocker;                // not granted: which holder the claim waits for
  std::chrono::microseconds clock{};  // of the server
};

struct nothing {};  // the claim is not there (any more)
struct done {};
struct refused {
  std::optional<ballot> vote{};  // of one of several servers
  bool is_unasked = false;       // a claim before it, in the same request, was refused: nobody has looked
};
/// The store grants nothing to anybody for a while. Nothing was written.
struct paused {
  failure reason;
};
struct other_capacity {
  std::int64_t capacity = 0;
};
/// Where a claim stands in its queue.
struct place {
  fencing_token token;
  bool granted = false;
  bool head = false;                    // nobody waits before it
  std::optional<duration> holder_left;  // until the first of the holders expires
  bool silent = false;                  // a holder notifies nobody when it ends: a foreign one
  std::optional<failure> pause{};       // why the store grants nothing to anybody, for `holder_left`
  std::optional<ballot> vote{};         // of one of several servers
  /// A grant counts from then, if that is earlier than the request.
  std::optional<store::time_point> counts_from{};
  bool is_doubted = false;            // granted, in a session that is not known to live: see driver
  store::stream_position position{};  // of the answer
};
struct kept {
  std::vector<bool> each;
  std::vector<std::size_t> unsure{};  // those of them, by index, that the store could not look at
};
struct count {
  std::size_t value = 0;
};
/// The answers to a joint request, as far as it was carried out. A claim that is refused is the last of them.
/// Behind any other answer the rest was not carried out, and is to be asked one by one: so a store need not
/// say in a joint request what becomes of each kind of claim.
struct several {
  using answer = std::variant<nothing, done, refused, place>;
  std::vector<answer> each;
};
/// A part of a listing or an inspection: the next request continues it.
struct more {
  std::shared_ptr<listing_state> listed;
  bool progress = true;  // it went on since the request before
};

using reply = std::variant<nothing, done, refused, paused, other_capacity, place, kept, count, more,
                           std::optional<lock_state>, std::vector<lock_summary>, several>;

/// Appends the answer to the next part of a joint request. \return false: none of the parts behind it is
/// carried out.
bool append(several& answers, const reply& next);

}  // namespace holdfast::tickets
