#include "core/candidates.hpp"

namespace holdfast {

namespace {

bool is_of_another_library(const claimant& process) {
  return process.host.empty() && process.pid == 0 && process.program.empty();
}

std::optional<candidate> candidate_of(const claim_state& claim, bool leads) {
  const claimant& process = claim.claimant;
  if (claim.mode != mode::exclusive) return std::nullopt;
  if (!process.value && !is_of_another_library(process)) return std::nullopt;
  candidate c;
  c.leads = leads;
  c.value = process.value.value_or(process.label);
  c.revision = process.value_revision;
  c.token = claim.token;
  c.process = process;
  if (!process.value) c.process.label.clear();  // it is the value
  c.process.value.reset();
  c.process.value_revision = 0;
  c.age = claim.age;
  c.expires_in = claim.expires_in;
  return c;
}

}  // namespace

std::optional<candidate> leader_in(const std::optional<lock_state>& of) {
  if (!of || of->holders.empty()) return std::nullopt;
  // Only ZooKeeper gives the claims of other libraries tokens. Elsewhere such a claim is a lock, as a key of
  // Redis that another library has set.
  if (!of->holders.front().token) return std::nullopt;
  return candidate_of(of->holders.front(), true);
}

std::vector<candidate> candidates_in(const std::optional<lock_state>& of) {
  std::vector<candidate> all;
  if (auto leader = leader_in(of)) all.push_back(std::move(*leader));
  if (!of) return all;
  for (const claim_state& waiter : of->waiters) {
    if (auto standby = candidate_of(waiter, false)) all.push_back(std::move(*standby));
  }
  return all;
}

}  // namespace holdfast
