#include "commands/wait_line.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <fmt/core.h>
#include <unistd.h>
#include <utility>

#include "output/text.hpp"
#include <holdfast/error.hpp>

namespace holdfast::cli {

namespace {

/// The number of claims in the queue before this process's claim.
std::ptrdiff_t claims_ahead(const lock_state& lock) {
  return std::ranges::find_if(lock.waiters, is_own) - lock.waiters.begin();
}

}  // namespace

wait_line::wait_line(const client& locks, std::string name) : locks_{locks}, name_{std::move(name)} {
  if (line_.on()) watch_ = locks_.watch([changed = changed_] { changed->raise(); });
}

int wait_line::get() const noexcept { return line_.on() ? changed_->get() : -1; }

void wait_line::draw() {
  if (!line_.on()) return;
  changed_->take();
  line_.show(text());
}

std::string wait_line::text() const {
  using namespace std::chrono;
  const auto waited = to_text(duration_cast<duration>(boot_clock::now() - since_));
  const auto start = fmt::format("waiting {} for the lock '{}'", waited, printable(name_));
  try {
    const auto lock = locks_.inspect(name_);
    if (lock && !lock->pause_reason.empty()) return start + ": " + printable(lock->pause_reason);
    if (!lock || lock->holders.empty()) return start;
    const auto ahead = claims_ahead(*lock);
    const auto place =
        ahead == 0 ? std::string{"next in the queue"} : fmt::format("{} ahead in the queue", ahead);
    return fmt::format("{}: {}; {}", start, holders_text(*lock), place);
  } catch (const error&) {
    return start + ": the store does not answer";
  }
}

bool is_own(const claim_state& claim) {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  return claim.claimant.pid == ::getpid() && claim.claimant.host == host.data();
}

std::string holders_text(const lock_state& lock) {
  if (lock.holders.empty()) return "held by nobody now";
  const auto& first = lock.holders.front();
  const auto others = lock.holders.size() - 1;
  const auto more = others == 0 ? "" : fmt::format(", and {} more", others);
  if (!first.token)
    return fmt::format("held by a client of another library ({}){}", printable(first.owner), more);
  return fmt::format("held by {}, for {}{}", to_text(first.claimant), to_text(first.age), more);
}

}  // namespace holdfast::cli
