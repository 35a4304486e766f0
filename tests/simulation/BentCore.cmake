# Mutants of core, lease and runtime: see BentCopy.cmake.

set(bent_folder core)

# What a lease is worth is counted from the answer, and not from the request.
bend(acquisition.cpp
  FROM [=[    if (!is_late(now)) return grant();]=]
  TO [=[    if (!is_late(now) && is_bent(mutant::validity_from_reply)) kept_ = now;
    if (!is_late(now)) return grant();]=])

# A claim that may be granted yet is told to have failed.
bend(acquisition.cpp
  FROM [=[  return {errc::unknown_outcome, sentence]=]
  TO [=[  return {is_bent(mutant::unknown_means_failed) ? errc::unavailable : errc::unknown_outcome, sentence]=])

# "No answer" is taken for "not carried out".
bend(acquisition.cpp
  FROM [=[  if (state_ == state::asking && (t.maybe_executed || t.granted)) {]=]
  TO [=[  const bool maybe_executed = t.maybe_executed && !is_bent(mutant::timeout_means_no);
  if (state_ == state::asking && (maybe_executed || t.granted)) {]=])
bend(acquisition.cpp
  FROM [=[  if (state_ == state::asking && !t.maybe_executed) --]=]
  TO [=[  if (state_ == state::asking && !maybe_executed) --]=])

# Who waits relies on the notification that its turn has come.
bend(acquisition.cpp
  FROM [=[  return wake(next_look(current, kept_, claim_->ttl, now, random));]=]
  TO [=[  if (is_bent(mutant::never_looks_again)) return wake(now + 1h);
  return wake(next_look(current, kept_, claim_->ttl, now, random));]=])

# Nobody looks when notifications may have been lost.
bend(acquisition.cpp
  FROM [=[  if (n.kind == store::notification_kind::first) {]=]
  TO [=[  if (is_bent(mutant::gap_ignored) && n.kind == store::notification_kind::look && !n.token) return {};
  if (n.kind == store::notification_kind::first) {]=])

# A holder is reckoned with for a second longer than the store says.
bend(acquisition.cpp
  FROM [=[*at.holder_left + after_expiry);]=]
  TO [=[*at.holder_left + after_expiry + (is_bent(mutant::holder_not_followed) ? 1s : 0s));]=])

# A notification is the answer.
bend(acquisition.cpp
  FROM [=[  return has_place && is_about_place ? look(now) : step{};]=]
  TO [=[  if (has_place && is_about_place && n.kind == store::notification_kind::granted &&
      is_bent(mutant::notification_believed)) {
    kept_ = now;
    return grant();
  }
  return has_place && is_about_place ? look(now) : step{};]=])

# What a proof has to show is not looked at.
bend(acquisition.cpp
  FROM [=[proof_ != 0 && n.proof == proof_;]=]
  TO [=[(is_bent(mutant::proof_ignored) || (proof_ != 0 && n.proof == proof_));]=])
bend(acquisition.cpp
  FROM [=[  proof_ = claim_->wait && claim_->renews ? random : 0;]=]
  TO [=[  if (proof_ == 0 || !is_bent(mutant::proof_kept)) proof_ = claim_->wait && claim_->renews ? random : 0;]=])
bend(acquisition.cpp
  FROM [=[  if (state_ != state::waiting || n.kind]=]
  TO [=[  if ((state_ != state::waiting && !is_bent(mutant::proof_despite_request)) || n.kind]=])
bend(acquisition.cpp
  FROM [=[  if (in_flight_) {
    early_.look_at_any]=]
  TO [=[  if (in_flight_ && is_bent(mutant::proof_despite_request) && is_proven(now, n)) return grant(true);
  if (in_flight_) {
    early_.look_at_any]=])
bend(acquisition.cpp
  FROM [=[n.position.is_behind(answered_at_) && now]=]
  TO [=[(n.position.is_behind(answered_at_) || is_bent(mutant::proof_on_any_connection)) && now]=])
bend(acquisition.cpp
  FROM [=[        if (state_ == state::looking && at->position.connection != answered_at_.connection) proof_ = 0;]=]
  TO [=[        if (state_ == state::looking && at->position.connection != answered_at_.connection && !is_bent(mutant::proof_on_any_connection))
          proof_ = 0;]=])


# What was cancelled stays in the queue.
bend(acquisition.cpp
  FROM [=[  if (state_ == state::over) return {};
  if (!in_flight_) return leave(now);]=]
  TO [=[  if (state_ == state::over || is_bent(mutant::cancel_keeps_ticket)) return {};
  if (!in_flight_) return leave(now);]=])

# Whoever holds when the request is carried out is ended by force.
bend(questions.cpp
  FROM [=[  return force_release{name_, of.first, of.last};]=]
  TO [=[  if (is_bent(mutant::force_release_unbounded)) return force_release{name_, {}, last_token};
  return force_release{name_, of.first, of.last};]=])

# A name is free although it has to rest.
bend(questions.cpp
  FROM [=[  if (now >= until) return release{hold};]=]
  TO [=[  if (now >= until || is_bent(mutant::at_least_forgotten)) return release{hold};]=])

# An observer reports a leader of an older term as soon as it sees one.
bend(leader_tracker.cpp
  FROM [=[  return now < older_->outlived;]=]
  TO [=[  return now < older_->outlived && !is_bent(mutant::older_term_shown);]=])
set(bent_folder runtime)

# So that a driver can be watched.
bend(driver.hpp
  FROM [=[class driver final :]=]
  TO [=[class driver :]=])

# A release that has not got through at once is given up.
bend(driver.cpp
  FROM [=[  ask(tickets::ending{std::move(hold)}, give_up, std::move(done));]=]
  TO [=[  ask(tickets::ending{std::move(hold)}, is_bent(mutant::release_not_repeated) ? time_.now() : give_up, std::move(done));]=])

# Of several claims in one request each takes the answer of another.
bend(driver.cpp
  FROM [=[answer) { on_reply(op, tickets::reply{answer}); }, answers->each[i]);]=]
  TO [=[answer) { on_reply(op, tickets::reply{answer}); },
                 answers->each[is_bent(mutant::joint_answers_swapped) ? answered - 1 - i : i]);]=])

# A claim behind one that is refused is taken for granted.
bend(driver.cpp
  FROM [=[      on_reply(op, tickets::reply{tickets::refused{{}, true}});]=]
  TO [=[      if (is_bent(mutant::joint_refusal_skipped)) {
        on_reply(op, tickets::reply{tickets::place{fencing_token{1}, true, true, {}}});
      } else {
        on_reply(op, tickets::reply{tickets::refused{{}, true}});
      }]=])

# A look is answered with what the one before has seen.
bend(driver.cpp
  FROM [=[  ask(tickets::inspecting{]=]
  TO [=[  if (is_bent(mutant::former_look_shown)) {
    done = [this, name, done = std::move(done)](const store::inspected& answer) {
      const auto [former, is_first] = former_.try_emplace(name, answer);
      done(is_first ? answer : std::exchange(former->second, answer));
    };
  }
  ask(tickets::inspecting{]=])
bend(driver.hpp
  FROM [=[  std::uint64_t last_number_ = 0;]=]
  TO [=[  std::unordered_map<std::string, store::inspected> former_;
  std::uint64_t last_number_ = 0;]=])

set(bent_folder lease)

bend(keeper.cpp
  FROM [=[    confirm(lease, sent);]=]
  TO [=[    confirm(lease, is_bent(mutant::validity_from_reply) ? now : sent);]=])

# What was given back is renewed.
bend(keeper.cpp
  FROM [=[  agenda_.erase(lease);]=]
  TO [=[  if (is_bent(mutant::keeper_outlives_unlock)) {
    time_.at(time_.now() + lease->ttl() / 3, [this, hold = lease->hold] {
      port_.renew({hold}, time_.now() + hold.ttl, [](const store::renewals&) {});
    });
  }
  agenda_.erase(lease);]=])

# What had no answer once is never asked for again.
bend(keeper.cpp
  FROM [=[    const bool again = lease->schedule.renews]=]
  TO [=[    const bool again = is_bent(mutant::keeper_gives_up) ? false : lease->schedule.renews]=])

# A deadline is compared with the time at which a renewal was sent, and not with that at which its answer came.
bend(keeper.cpp
  FROM [=[  const time_point now = time_.now();
  if (outcome == store::renewed::lost]=]
  TO [=[  const bool is_stale = is_bent(mutant::late_answer_renews) && outcome == store::renewed::yes;
  const time_point now = is_stale ? sent : time_.now();
  if (outcome == store::renewed::lost]=])
bend(keeper.cpp
  FROM [=[    last_deadline = std::max(last_deadline, lease->deadline());]=]
  TO [=[    last_deadline = std::max(last_deadline, lease->deadline());
    if (is_bent(mutant::late_answer_renews)) last_deadline += std::chrono::hours{1};]=])
bend(keeper.cpp
  FROM [=[    if (now >= lease->deadline() - lead(*lease)) {
      lost_(lease, deadline_reason(*lease));
    } else {]=]
  TO [=[    if (now >= lease->deadline() - lead(*lease) && !is_bent(mutant::late_answer_renews)) {
      lost_(lease, deadline_reason(*lease));
    } else {]=])

# The store is not told of the grace.
bend(lease_manager.cpp
  FROM [=[    of_.port_.acquire(claim_, [this]=]
  TO [=[    store::claim told = *claim_;
    if (is_bent(mutant::grace_forgotten)) told.grace = {};
    of_.port_.acquire(std::make_shared<const store::claim>(std::move(told)), [this]=])

# A release waits for the grace, too.
bend(lease_manager.cpp
  FROM [=[  if (until <= now) return port_.release(]=]
  TO [=[  if (until <= now && is_bent(mutant::grace_delays_release)) until = now + lease->grace;
  if (until <= now) return port_.release(]=])

# A set that waits keeps the names after the one that it waits for.
bend(set_claims.cpp
  FROM [=[  give_back(missing->first + 1);]=]
  TO [=[  if (!is_bent(mutant::set_keeps_names)) give_back(missing->first + 1);]=])

# A set that ends without its names keeps those that it held.
bend(set_claims.cpp
  FROM [=[    give_back(0);]=]
  TO [=[    if (!is_bent(mutant::set_ends_holding)) give_back(0);]=])

# A set goes on as if it still held what it has lost.
bend(set_claims.cpp
  FROM [=[    if (held_[name]->state() == lease_record::phase::held) continue;]=]
  TO [=[    if (held_[name]->state() == lease_record::phase::held || is_bent(mutant::set_misses_losses)) continue;]=])
