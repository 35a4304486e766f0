// SPDX-License-Identifier: Apache-2.0
#include "holdfast/state.hpp"

#include <cstddef>
#include <deque>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "c/guard.hpp"
#include "c/handles.hpp"
#include "holdfast/election.hpp"

using holdfast::candidate;
using holdfast::claim_state;
using holdfast::claimant;
using holdfast::election;
using holdfast::fencing_token;
using holdfast::lock_state;
using holdfast::mode;
using holdfast::server_note;
using namespace holdfast::c;  // NOLINT(google-build-using-namespace)

static_assert(HOLDFAST_EXCLUSIVE == static_cast<int>(mode::exclusive));
static_assert(HOLDFAST_SHARED == static_cast<int>(mode::shared));
static_assert(HOLDFAST_PERMITS == static_cast<int>(mode::permits));

namespace {

/// What a caller sees, and what that points to.
struct owned_state : holdfast_state {
  explicit owned_state(lock_state from) : holdfast_state{}, source_{std::move(from)} {
    for (const claim_state& each : source_.holders) add(each, holding_);
    for (const claim_state& each : source_.waiters) add(each, waiting_);
    name = source_.name.c_str();
    capacity = source_.capacity;
    last_token = source_.last_token.value();
    holders = holding_.data();
    holder_count = holding_.size();
    waiters = waiting_.data();
    waiter_count = waiting_.size();
    paused_for_ms = ms_of(source_.paused_for);
    pause_reason = source_.pause_reason.c_str();
    for (const server_note& each : source_.notes) {
      said_.push_back({each.server.c_str(), each.text.c_str(), each.answers});
      noted_.push_back(&said_.back());
    }
    notes = noted_.data();
    note_count = noted_.size();
  }
  owned_state(const owned_state&) = delete;
  owned_state& operator=(const owned_state&) = delete;
  ~owned_state() = default;

 private:
  void add(const claim_state& of, std::vector<const holdfast_claim*>& list) {
    const claimant& process = of.claimant;
    holdfast_claim& made = claims_.emplace_back();
    made.owner = of.owner.c_str();
    made.mode = static_cast<int>(of.mode);
    made.permits = of.permits;
    made.token = of.token.value();
    made.age_ms = ms_of(of.age);
    made.expires_in_ms = ms_of(of.expires_in);
    made.host = process.host.c_str();
    made.pid = process.pid;
    made.program = process.program.c_str();
    made.label = process.label.c_str();
    made.job = process.job.c_str();
    made.release_request = process.release_request ? process.release_request->c_str() : nullptr;
    made.value = process.value ? process.value->data() : nullptr;
    made.value_size = process.value ? process.value->size() : 0;
    made.is_released = process.released;
    list.push_back(&made);
  }

  const lock_state source_;
  std::deque<holdfast_claim> claims_;  // pointers to them stay valid
  std::vector<const holdfast_claim*> holding_;
  std::vector<const holdfast_claim*> waiting_;
  std::deque<holdfast_note> said_;
  std::vector<const holdfast_note*> noted_;
};

/// A candidate as a claim: the leader holds, the others wait.
claim_state claim_of(candidate each) {
  claim_state claim;
  claim.token = each.token;
  claim.age = each.age;
  claim.expires_in = each.expires_in;
  claim.claimant = std::move(each.process);
  claim.claimant.value = std::move(each.value);
  return claim;
}

/// The forms of a call for one hold, and for all of a name.
template <class One, class All>
int on_holds(uint64_t token, size_t* count, char** message, One one, All all) {
  return guarded(message, [&] {
    if (count != nullptr) *count = 0;
    const std::size_t reached = token == 0 ? all() : std::size_t{one(fencing_token{token})};
    if (count != nullptr) *count = reached;
  });
}

}  // namespace

int holdfast_request_release(holdfast_client* client, const char* name, uint64_t token, const char* reason,
                             size_t* count, char** message) {
  const auto locks = [&]() -> const holdfast::client& { return required(client, "client").locks; };
  return on_holds(
      token, count, message,
      [&](fencing_token of) {
        return locks().request_release(text_of(name, "name"), of, text_or_empty(reason));
      },
      [&] { return locks().request_release(text_of(name, "name"), text_or_empty(reason)); });
}

int holdfast_force_release(holdfast_client* client, const char* name, uint64_t token, size_t* count,
                           char** message) {
  const auto locks = [&]() -> const holdfast::client& { return required(client, "client").locks; };
  return on_holds(
      token, count, message,
      [&](fencing_token of) { return locks().force_release(text_of(name, "name"), of); },
      [&] { return locks().force_release(text_of(name, "name")); });
}

int holdfast_inspect(holdfast_client* client, const char* name, size_t most_waiters, holdfast_state** state,
                     char** message) {
  return guarded(message, [&] {
    auto*& out = cleared(state, "state");
    auto found = required(client, "client").locks.inspect(text_of(name, "name"), most_waiters);
    if (!found) found.emplace().name = name;
    out = std::make_unique<owned_state>(std::move(*found)).release();
  });
}

int holdfast_inspect_election(holdfast_client* client, const char* name, holdfast_state** state,
                              char** message) {
  return guarded(message, [&] {
    auto*& out = cleared(state, "state");
    lock_state found;
    found.name = text_of(name, "name");
    for (candidate& each : election{required(client, "client").locks, name}.participants()) {
      if (each.leads) found.last_token = each.token;
      auto& list = each.leads ? found.holders : found.waiters;
      list.push_back(claim_of(std::move(each)));
    }
    out = std::make_unique<owned_state>(std::move(found)).release();
  });
}

void holdfast_state_free(holdfast_state* state) { delete static_cast<owned_state*>(state); }
