#include "simulation/forger.hpp"

#include <array>
#include <chrono>

namespace holdfast::sim {

using namespace std::chrono_literals;

void forger::next() {
  const duration pause = around_.in.chance.between(1ms, 500ms);
  if (around_.in.now + pause >= until_) return;
  around_.in.after(pause, [this] {
    forge();
    next();
  });
}

void forger::forge() {
  using store::notice;
  constexpr auto all =
      std::to_array<notice>({notice::granted, notice::granted, notice::revoked, notice::look});
  const standing* const claim = around_.account.any_claim(around_.in.chance);
  if (claim == nullptr) return;
  const notice kind = all.at(around_.in.chance.below(all.size()));
  around_.in.note("forged", static_cast<std::uint64_t>(kind), claim->name, claim->token);
  around_.store.notify_all(claim->owner, {kind, fencing_token{claim->token}});
}

}  // namespace holdfast::sim
