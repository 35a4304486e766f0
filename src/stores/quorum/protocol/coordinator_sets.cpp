// Whether all servers take the client for one of theirs: before its first claim, and from then on.

#include <algorithm>
#include <chrono>
#include <utility>

#include "stores/quorum/protocol/coordinator_parts.hpp"

namespace holdfast::quorum {

namespace {

constexpr duration join_again = std::chrono::seconds{1};  // a write of the set that has failed

}  // namespace

std::optional<failure> coordinator::meet(std::size_t server, const self_description& said) {
  if (!*alive_ || !uses_.join) return std::nullopt;
  set_.hear(server, said);
  if (const auto refusal = set_.conflict()) {
    refuse_claims(*refusal);
    take_back();
  }
  get_acquainted();
  return set_.conflict_at(server);
}

std::optional<failure> coordinator::joined(std::size_t server, self_description said, bool wrote) {
  if (!*alive_) return std::nullopt;
  if (wrote) set_.wrote(server);
  // Its memory is full, or this user may read the key alone. It is asked again on the next connection.
  if (!said.set) said.keeps_set = false;
  auto refusal = meet(server, said);
  if (!refusal) connected(server);
  return refusal;
}

/// The next connection may have been heard, and be coming up, when the write on the one before fails: that is
/// not to cost the write on the new one.
void coordinator::not_joined(std::size_t server) {
  if (!*alive_) return;
  if (set_.failed(server)) {
    scheduler_.at(scheduler_.now() + join_again, [this, server, alive = alive_] {
      if (!*alive) return;
      set_.lacks_again(server);
      get_acquainted();
    });
  }
  get_acquainted();
}

/// What this client wrote would refuse the others. But holds need it, to keep clients of other sets away.
void coordinator::take_back() {
  if (is_acquainted_) return;
  for (const std::size_t each : set_.take_written()) uses_.leave(each, set_.text());
}

void coordinator::connected(std::size_t server) {
  if (!*alive_) return;
  if (set_.connected(server))
    for (const auto& [owner, each] : claims_) each->machine.restarted(server);
  get_acquainted();
}

void coordinator::miss(std::size_t server) {
  if (!*alive_) return;
  set_.miss(server);
  get_acquainted();
}

/// Before the first claim: asks whether all servers keep the same set, and then writes it where there is
/// none. A client that is refused has written nothing. Later: writes it at servers that come back without it.
void coordinator::get_acquainted() {
  if (set_.conflict()) return;
  const bool is_needed = is_acquainted_ || (!parked_.empty() && places_.is_known());
  if (!is_needed || !uses_.join) return begin_parked();
  if (!is_acquainted_ && set_.is_unheard() && late_ == 0) return await_servers();
  for (const std::size_t each : set_.lacking()) {
    set_.join(each);
    uses_.join(each, set_.text());
  }
  if (!is_acquainted_ && set_.is_joining() && late_ < 2) return await_servers();
  is_acquainted_ = true;
  scheduler_.cancel(std::exchange(meeting_, 0));
  begin_parked();
}

/// A server that is silent must not cost the first claim the whole silence: a majority has answered, and the
/// others have had as long as these.
void coordinator::await_servers() {
  if (meeting_ != 0) return;
  meeting_ = scheduler_.at(scheduler_.now() + settings_.silence / 10, [this] {
    meeting_ = 0;
    ++late_;
    get_acquainted();
  });
}

void coordinator::begin_parked() {
  if (!is_acquainted_ || !places_.is_known()) return;
  for (auto& [r, done] : std::exchange(parked_, {})) begin_claim(std::move(r), std::move(done));
}

/// Of claims that do not hold yet. One that waits, and that nobody asks for at the moment, looks.
void coordinator::refuse_claims(const failure& reason) {
  scheduler_.cancel(std::exchange(time_limit_, 0));
  scheduler_.cancel(std::exchange(meeting_, 0));
  times_due_ = 0;
  times_.clear();
  for (auto& [r, done] : std::exchange(parked_, {})) answer(std::move(done), store::request_error{reason});
  std::vector<claim_ptr> all;
  for (const auto& [owner, each] : claims_)
    if (!each->machine.holds()) all.push_back(each);
  for (const claim_ptr& each : all) {
    if (each->is_over) continue;
    const owner_id owner = each->machine.claim().owner;
    if (each->done)
      refuse(each, reason);
    else
      uses_.notify({owner, store::notification_kind::look, each->machine.claim().token});
  }
}

/// Nobody has to find out later whether it was granted; but a minority may have it.
void coordinator::refuse(const claim_ptr& c, const failure& reason) {
  tickets::request r = c->machine.claim();
  r.kind = tickets::task::withdraw;
  on_reply done = std::exchange(c->done, nullptr);
  release(std::move(r), nullptr);
  answer(std::move(done), store::request_error{reason});
}

}  // namespace holdfast::quorum
