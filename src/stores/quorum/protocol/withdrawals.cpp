#include "stores/quorum/protocol/withdrawals.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

namespace holdfast::quorum {

namespace {

using namespace std::chrono_literals;

constexpr duration first_pause = 200ms;  // after a release that failed
constexpr duration longest_pause = 800ms;

}  // namespace

void withdrawals::send(const ballots::retract& r, rounds::on_reply done) {
  const auto w = std::make_shared<const pending_withdrawal>(pending_withdrawal{r, to_.now() + r.hold.ttl});
  to_.ask_all(
      r,
      [this](const outcomes& heard, bool is_last) -> std::optional<rounds::outcome> {
        const std::size_t ended = count_of<tickets::done>(heard);
        if (ended + count_of<tickets::nothing>(heard) >= to_.majority())
          return ended != 0 ? tickets::reply{tickets::done{}} : tickets::reply{tickets::nothing{}};
        if (is_last || to_.has_failed(heard)) return to_.too_few(heard, is_last);
        return std::nullopt;
      },
      std::move(done), [this, w](std::size_t server) { repeat(server, w, first_pause); });
}

void withdrawals::send_last(const tickets::renew& renewal, rounds::decision decide, rounds::on_reply done) {
  const ballots::retract r{renewal.holds.front(), to_.clocks().last()};
  const auto w = std::make_shared<const pending_withdrawal>(pending_withdrawal{r, to_.now() + r.hold.ttl});
  const auto withdrawn = std::make_shared<std::vector<char>>(to_.servers(), false);
  to_.ask_all(
      renewal,
      [this, w, withdrawn, decide = std::move(decide)](const outcomes& heard, bool is_last) {
        auto decided = decide(heard, is_last);
        for (std::size_t i = 0; i < heard.size(); ++i) {
          const auto* const k = reply_in<tickets::kept>(heard[i]);
          const bool is_missing = k != nullptr && k->unsure.empty() && !k->each.front();
          if (is_missing && !std::exchange(withdrawn->at(i), true)) withdraw_at(i, w, first_pause);
        }
        return decided;
      },
      std::move(done));
}

void withdrawals::withdraw_at(std::size_t server, const pending& w, duration pause) {
  if (is_superseded_(w->withdrawal.hold.owner)) return;
  to_.send_to(server, w->withdrawal, [this, server, w, pause](const rounds::outcome& o) {
    if (std::holds_alternative<store::request_error>(o)) repeat(server, w, pause);
  });
}

/// To a server that has not confirmed it. Ever more rarely: one that is dead costs little.
void withdrawals::repeat(std::size_t server, const pending& w, duration pause) {
  if (to_.now() + pause > w->give_up) return;
  to_.after(pause,
            [this, server, w, next = std::min(2 * pause, longest_pause)] { withdraw_at(server, w, next); });
}

}  // namespace holdfast::quorum
