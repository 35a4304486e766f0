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
  foreign_holder_ended,
  foreign_end_missed,
  replicas_unheard,
  look_not_kept,
  moment_not_told,
  moment_without_end,
  moment_after_moment,
  create_without_guid,
  former_session_taken,
  session_not_checked,
  wrong_neighbour,
  gave_up_taken_as_release,
  reader_waits_on_later,
  downgrade_renumbered,
  delete_not_retried,
  disconnect_means_loss,
  reconnect_means_proof,
  beat_means_proof,
  listing_too_early,
  select_then_update,
  row_deleted_on_release,
  token_not_floored,
  client_clock_expiry,
  session_zone_now,
  victim_means_no,
  late_answer_renews,
  gap_ignored,
  release_not_repeated,
  holder_not_followed,
  force_release_unbounded,
  force_release_by_highest_token,
  notification_believed,
  guard_ignored,
  guard_hands_over,
  guard_for_one,
  guard_too_short,
};

struct named_mutant {
  std::string_view name;
  mutant which;
  std::string_view description;
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
    {"foreign-holder-ended", mutant::foreign_holder_ended, "a foreign client's lock ended by force"},
    {"foreign-end-missed", mutant::foreign_end_missed, "nobody looks out for a foreign client's end"},
    {"replicas-unheard", mutant::replicas_unheard, "a grant believed that no replica has acknowledged"},
    {"look-not-kept", mutant::look_not_kept, "a look at a claim begins no new ttl, and writes nothing"},
    {"moment-not-told", mutant::moment_not_told,
     "the head is not told that the lock is left free for a moment"},
    {"moment-without-end", mutant::moment_without_end, "the lock is left free for good"},
    {"moment-after-moment", mutant::moment_after_moment,
     "who withdraws begins another moment in which the lock is left free"},
    {"create-without-guid", mutant::create_without_guid,
     "a lost create is made again, and the first not found"},
    {"former-session-taken", mutant::former_session_taken, "what a former session had is taken for ours"},
    {"session-not-checked", mutant::session_not_checked, "the session is not looked at before granting"},
    {"wrong-neighbour", mutant::wrong_neighbour, "another is watched than the nearest ahead"},
    {"gave-up-taken-as-release", mutant::gave_up_taken_as_release,
     "whoever is gone ahead is taken to have held"},
    {"reader-waits-on-later", mutant::reader_waits_on_later, "a reader waits for a writer behind it"},
    {"downgrade-renumbered", mutant::downgrade_renumbered, "a downgrade queues anew"},
    {"delete-not-retried", mutant::delete_not_retried, "a delete that was cut off is not tried again"},
    {"disconnect-means-loss", mutant::disconnect_means_loss, "a broken connection is told as a loss"},
    {"reconnect-means-proof", mutant::reconnect_means_proof,
     "being let in again is taken for a proof that the session lives"},
    {"beat-means-proof", mutant::beat_means_proof,
     "one answered beat is taken for a proof that the session lives"},
    {"listing-too-early", mutant::listing_too_early,
     "a claim takes a listing that was sent before its node was made"},
    {"select-then-update", mutant::select_then_update,
     "the capacity is read in one transaction, and taken in another"},
    {"row-deleted-on-release", mutant::row_deleted_on_release, "a name's row goes with its last claim"},
    {"token-not-floored", mutant::token_not_floored, "a forgotten name's tokens begin anew"},
    {"client-clock-expiry", mutant::client_clock_expiry,
     "the asking client's clock decides what has expired"},
    {"session-zone-now", mutant::session_zone_now, "NOW() in the time zone of each session"},
    {"victim-means-no", mutant::victim_means_no, "a deadlock's victim is taken to be refused"},
    {"late-answer-renews", mutant::late_answer_renews, "an answer after the deadline takes a loss back"},
    {"gap-ignored", mutant::gap_ignored, "no waiter looks after a reconnect"},
    {"release-not-repeated", mutant::release_not_repeated, "a release is tried once"},
    {"holder-not-followed", mutant::holder_not_followed,
     "the head of the queue looks a second after the holder's time is up"},
    {"force-release-unbounded", mutant::force_release_unbounded,
     "who ends holds by force ends whoever holds by then"},
    {"force-release-by-highest-token", mutant::force_release_by_highest_token,
     "who ends holds by force ends whoever has a token up to theirs by then"},
    {"guard-ignored", mutant::guard_ignored, "no client asks a server whether it may have forgotten grants"},
    {"guard-hands-over", mutant::guard_hands_over,
     "a server that may have forgotten grants lets nobody in, but hands over"},
    {"guard-for-one", mutant::guard_for_one, "only the first client of a promoted server keeps to the guard"},
    {"guard-too-short", mutant::guard_too_short, "the guard is half as long as the longest ttl"},
    {"notification-believed", mutant::notification_believed, "a notification of a grant is believed"},
});

[[nodiscard]] constexpr std::optional<mutant> mutant_named(std::string_view name) {
  for (const named_mutant& m : mutants) {
    if (m.name == name) return m.which;
  }
  return std::nullopt;
}

}  // namespace holdfast::sim
