#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace holdfast::sim {

/// Faults put into the code on purpose. One that no world shows is a fault of the simulator.
enum class mutant : std::uint8_t {
  none,
  owner_unchecked,
  get_then_delete,
  validity_from_reply,
  loss_waits_for_io,
  extension_resurrects,
  keeper_outlives_unlock,
  keeper_gives_up,
  timeout_means_no,
  cancel_keeps_ticket,
  dead_waiter_served,
  never_looks_again,
  client_clock_token,
  reader_leaked,
  clock_stops_in_suspend,
};

struct named_mutant {
  std::string_view name;
  mutant which;
  std::string_view what;
};
inline constexpr auto mutants = std::to_array<named_mutant>({
    {"owner-unchecked", mutant::owner_unchecked, "owner not checked on release"},
    {"get-then-delete", mutant::get_then_delete, "get, then delete, instead of one script"},
    {"validity-from-reply", mutant::validity_from_reply, "validity counted from the reply"},
    {"loss-waits-for-io", mutant::loss_waits_for_io, "loss not declared while I/O hangs"},
    {"extension-resurrects", mutant::extension_resurrects, "extension resurrects an expired hold"},
    {"keeper-outlives-unlock", mutant::keeper_outlives_unlock, "keeper outlives unlock"},
    {"keeper-gives-up", mutant::keeper_gives_up, "keeper gives up after one failure"},
    {"timeout-means-no", mutant::timeout_means_no, "timeout taken as \"not acquired\""},
    {"cancel-keeps-ticket", mutant::cancel_keeps_ticket, "cancelled wait keeps its ticket"},
    {"dead-waiter-served", mutant::dead_waiter_served, "hand-over to a dead waiter"},
    {"never-looks-again", mutant::never_looks_again, "lost wake-up never looked for again"},
    {"client-clock-token", mutant::client_clock_token, "token from the client's clock"},
    {"reader-leaked", mutant::reader_leaked, "reader count leaked"},
    {"clock-stops-in-suspend", mutant::clock_stops_in_suspend, "deadline on a clock that stops in suspend"},
});

[[nodiscard]] constexpr std::optional<mutant> mutant_named(std::string_view name) {
  for (const named_mutant& m : mutants) {
    if (m.name == name) return m.which;
  }
  return std::nullopt;
}

}  // namespace holdfast::sim
