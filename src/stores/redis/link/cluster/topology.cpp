// SPDX-License-Identifier: Apache-2.0
#include "stores/redis/link/cluster/topology.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "stores/redis/protocol/replies.hpp"
#include "stores/redis/protocol/server_answers.hpp"

namespace holdfast::redis {

namespace {

using namespace std::chrono_literals;

constexpr auto pause_between = 100ms;
constexpr auto patience = 500ms;          // with one server, until the next is asked as well
constexpr std::size_t most_problems = 3;  // in a message

}  // namespace

void topology::refresh() {
  if (is_asking_ || is_due_) return;
  if (scheduler_.now() >= not_before_) return begin();
  is_due_ = true;
  timer_ = scheduler_.at(not_before_, [this] {
    is_due_ = false;
    begin();
  });
}

void topology::stop() {
  end();
  is_due_ = true;  // for ever
}

void topology::begin() {
  to_ask_ = uses_.candidates();
  std::reverse(to_ask_.begin(), to_ask_.end());
  problems_.clear();
  is_asking_ = true;
  ++round_;
  answers_due_ = 0;
  ask_next();
}

void topology::ask_next() {
  scheduler_.cancel(std::exchange(timer_, 0));
  if (to_ask_.empty()) {
    if (answers_due_ != 0) return;
    const store::request_error reason = problem();
    end();
    uses_.on_failure(reason);
    return;
  }
  const server_address next = std::move(to_ask_.back());
  to_ask_.pop_back();
  ++answers_due_;
  uses_.ask(next, [this, next, round = round_](const value* reply, const store::request_error* problem) {
    if (is_asking_ && round == round_) hear(next, reply, problem);
  });
  timer_ = scheduler_.at(scheduler_.now() + patience, [this] { ask_next(); });
}

void topology::hear(const server_address& from, const value* reply, const store::request_error* problem) {
  --answers_due_;
  if (problem != nullptr) {
    problems_.push_back(*problem);
  } else if (reply == nullptr || reply->is(value::kind::error)) {
    store::request_error refusal = request_error_of(reply == nullptr ? "" : reply->text);
    refusal.reason.message = from.place() + ": " + refusal.reason.message;
    problems_.push_back(std::move(refusal));
  } else {
    try {
      slot_map map = slot_map::read(*reply, from);
      if (!map.is_empty()) {
        end();
        uses_.on_map(std::move(map));
        return;
      }
      problems_.push_back(
          {{errc::unavailable, from.place() + ": the cluster has given no slot to any server"}, true});
    } catch (const misunderstood&) {
      problems_.push_back(
          {{errc::corrupt_store, from.place() + ": its answer to CLUSTER SLOTS is no list of slots"}});
    }
  }
  ask_next();
}

void topology::end() {
  scheduler_.cancel(std::exchange(timer_, 0));
  is_asking_ = is_due_ = false;
  not_before_ = scheduler_.now() + pause_between;
}

/// What no try would change counts if all say so.
store::request_error topology::problem() const {
  store::request_error all{{errc::unavailable, "no node of the cluster says which server has which slot"},
                           false};
  if (problems_.empty()) return all;
  const auto worth_a_try =
      std::find_if(problems_.begin(), problems_.end(), [](const auto& p) { return p.retryable; });
  all.retryable = worth_a_try != problems_.end();
  all.reason.code = (all.retryable ? *worth_a_try : problems_.front()).reason.code;
  for (std::size_t i = 0; i < std::min(problems_.size(), most_problems); ++i)
    all.reason.message += "; " + problems_[i].reason.message;
  if (problems_.size() > most_problems)
    all.reason.message += "; and " + std::to_string(problems_.size() - most_problems) + " more";
  return all;
}

}  // namespace holdfast::redis
