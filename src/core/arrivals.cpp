#include "core/arrivals.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <map>
#include <set>
#include <system_error>
#include <utility>

namespace holdfast::store {

namespace {

constexpr std::array<std::string_view, 3> verbs{"counted", "arrived", "passed"};

/// The text before the next space, which is taken off.
std::string_view next_word(std::string_view& text) {
  const auto end = std::min(text.find(' '), text.size());
  const auto word = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return word;
}

claimant process_of(const claim_state& claim) {
  claimant process = claim.claimant;
  process.value.reset();
  process.value_revision = 0;
  return process;
}

/// Calls `with` for each claim of a latch or a barrier that holds.
template <class Function>
void for_each_attendance(const std::optional<lock_state>& of, Function with) {
  if (!of) return;
  for (const claim_state& each : of->holders) {
    if (each.mode != mode::permits || !each.claimant.value) continue;
    if (const auto found = attendance_in(*each.claimant.value)) with(*found, each);
  }
}

}  // namespace

std::string to_value(const attendance& of) {
  std::string text{verbs.at(static_cast<std::size_t>(of.stands_for))};
  if (of.stands_for != attendance::kind::counted) text += ' ' + std::to_string(of.phase);
  return text + ' ' + of.party.hex();
}

std::optional<attendance> attendance_in(std::string_view value) {
  const auto* const verb = std::find(verbs.begin(), verbs.end(), next_word(value));
  if (verb == verbs.end()) return std::nullopt;
  attendance found;
  found.stands_for = static_cast<attendance::kind>(verb - verbs.begin());
  if (found.stands_for != attendance::kind::counted) {
    const auto number = next_word(value);
    const auto parsed = std::from_chars(number.data(), number.data() + number.size(), found.phase);
    // Anybody may have written it. The phase after it has to be a number, too.
    if (parsed.ec != std::errc{} || parsed.ptr != number.data() + number.size()) return std::nullopt;
    if (found.phase == std::numeric_limits<std::uint64_t>::max()) return std::nullopt;
  }
  const auto party = owner_id::from_hex(value);
  if (!party) return std::nullopt;
  found.party = *party;
  return found;
}

arrivals counted_in(const std::optional<lock_state>& of, std::ptrdiff_t expected) {
  arrivals seen;
  seen.expected = expected;
  std::map<owner_id, std::int64_t> counts;
  for_each_attendance(of, [&](const attendance& each, const claim_state& claim) {
    if (each.stands_for != attendance::kind::counted) return;
    const auto [place, is_first] = counts.emplace(each.party, claim.permits);
    if (is_first) {
      seen.parties.push_back(process_of(claim));
    } else {
      place->second = std::max(place->second, claim.permits);
    }
  });
  for (const auto& [party, count] : counts) seen.arrived += count;
  return seen;
}

bool is_counted(const std::optional<lock_state>& of, const owner_id& id) {
  bool found = false;
  for_each_attendance(of, [&](const attendance& each, const claim_state&) {
    found = found || (each.stands_for == attendance::kind::counted && each.party == id);
  });
  return found;
}

barrier_view::barrier_view(const std::optional<lock_state>& of, std::ptrdiff_t expected)
    : expected_{expected} {
  std::set<owner_id> parties;
  for_each_attendance(of, [&](const attendance& each, const claim_state& claim) {
    if (each.stands_for == attendance::kind::counted) return;
    if (!newest_ || each.phase > *newest_) {
      newest_ = each.phase;
      newest_passed_ = false;
      newest_arrived_.clear();
      parties.clear();
    }
    if (each.phase < *newest_) return;
    if (each.stands_for == attendance::kind::passed) {
      newest_passed_ = true;
    } else if (parties.insert(each.party).second) {
      newest_arrived_.push_back(process_of(claim));
    }
  });
}

bool barrier_view::is_complete(std::uint64_t phase) const {
  if (!newest_ || *newest_ < phase) return false;
  return *newest_ > phase || newest_passed_ || std::ssize(newest_arrived_) >= expected_;
}

std::uint64_t barrier_view::phase_to_join() const {
  if (!newest_) return 0;
  return is_complete(*newest_) ? *newest_ + 1 : *newest_;
}

arrivals barrier_view::at(std::uint64_t phase) const {
  arrivals seen;
  seen.phase = phase;
  seen.expected = expected_;
  if (newest_ == phase && !newest_passed_) {
    seen.parties = newest_arrived_;
    seen.arrived = std::ssize(newest_arrived_);
  } else if (is_complete(phase)) {
    seen.arrived = expected_;
  }
  return seen;
}

}  // namespace holdfast::store
