#include "wait_line.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <fmt/core.h>
#include <unistd.h>
#include <utility>

#include "text.hpp"
#include <holdfast/error.hpp>

namespace holdfast::cli {

namespace {

/// How many claims are queued before ours, which we know by host and process id.
std::ptrdiff_t claims_ahead(const lock_state& lock) {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  const auto ours = std::ranges::find_if(lock.waiters, [&](const claim_state& claim) {
    return claim.who.pid == ::getpid() && claim.who.host == host.data();
  });
  return ours - lock.waiters.begin();
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
  const auto start = fmt::format("waiting {} for {}", waited, printable(name_));
  try {
    const auto lock = locks_.inspect(name_);
    if (!lock || lock->holders.empty()) return start;
    return fmt::format("{}: {}; {} ahead of us", start, holders_text(*lock), claims_ahead(*lock));
  } catch (const error&) {
    return start + ": the store does not answer";
  }
}

std::string holders_text(const lock_state& lock) {
  if (lock.holders.empty()) return "held by nobody now";
  const auto& first = lock.holders.front();
  const auto others = lock.holders.size() - 1;
  return fmt::format("held by {}, for {}{}", to_text(first.who), to_text(first.age),
                     others == 0 ? "" : fmt::format(", and {} more", others));
}

}  // namespace holdfast::cli
