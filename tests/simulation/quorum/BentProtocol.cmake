# Mutants of stores/quorum/protocol: see ../BentCopy.cmake.
set(bent_folder stores/quorum/protocol)

# A vote counts beyond its server's deadline, as long as another is younger; and, apart from that, while it is given back.
bend(contender.hpp
  FROM [=[    return at == standing::granted && since + ttl > now;]=]
  TO [=[    return (at == standing::granted || (at == standing::yielding && is_bent(mutant::yielding_counts))) &&
           (since + ttl > now || is_bent(mutant::stale_votes));]=])
bend(contender.cpp
  FROM [=[return all[majority_ - 1];]=]
  TO [=[return all[is_bent(mutant::stale_votes) ? 0 : majority_ - 1];]=])

# A vote counts from its answer.
bend(contender.cpp
  FROM [=[of.requests.finish();]=]
  TO [=[of.requests.finish();
  if (is_bent(mutant::validity_from_reply)) of.sent = now;]=])

# The first server has two votes; and, apart from that, votes for several tokens count together.
bend(contender.cpp
  FROM [=[    if (each.is_valid(now, ttl_) && each.ballot.accepted == token()) all.push_back(each.since);]=]
  TO [=[    if (each.is_valid(now, ttl_) &&
        (each.ballot.accepted == token() || is_bent(mutant::tokens_not_compared))) {
      all.push_back(each.since);
      if (&each == &votes_.front() && is_bent(mutant::server_counts_twice)) all.push_back(each.since);
    }]=])
bend(contender.cpp
  FROM [=[  return count([&](const server_vote& each) { return each.is_valid(now, ttl_); });]=]
  TO [=[  const bool is_twice = is_bent(mutant::server_counts_twice) && votes_.front().is_valid(now, ttl_);
  return count([&](const server_vote& each) { return each.is_valid(now, ttl_); }) + (is_twice ? 1 : 0);]=])

# A place in the queue of a server counts as its vote, for the number of the claim.
bend(contender.cpp
  FROM [=[  at = place.granted ?]=]
  TO [=[  at = place.granted || is_bent(mutant::answers_as_grants) ?]=])
bend(contender.cpp
  FROM [=[  ballot = *place.vote;]=]
  TO [=[  ballot = *place.vote;
  if (!place.granted && is_bent(mutant::answers_as_grants)) ballot.accepted = token;]=])

# A claim that has a majority gives votes back; and, apart from that, a claim without one does not.
bend(contender.cpp
  FROM [=[  if (holds()) {
    if (at != nullptr]=]
  TO [=[  if (holds() && !is_bent(mutant::holder_yields)) {
    if (at != nullptr]=])
bend(contender.cpp
  FROM [=[at->vote->is_overtaken && !may_win(now)) {]=]
  TO [=[at->vote->is_overtaken &&
      !is_bent(mutant::never_yields) && (!may_win(now) || is_bent(mutant::holder_yields))) {]=])
bend(contender.cpp
  FROM [=[    if (!holds()) claim_at(s, now, server);]=]
  TO [=[    if (!holds() || is_bent(mutant::holder_yields)) claim_at(s, now, server);]=])

# A claim keeps its votes though no token is accepted by a majority of them.
bend(contender.cpp
  FROM [=[  return is_proposing(now) || acceptors]=]
  TO [=[  return is_bent(mutant::keeps_vain_votes) || is_proposing(now) || acceptors]=])

# A notification of a grant counts as a vote.
bend(contender.cpp
  FROM [=[  const bool is_proven = !holds() && leaves_enough(of.since, now, *claim_) && of.proves(n, number_);]=]
  TO [=[  const bool is_believed = is_bent(mutant::vote_by_notification);
  const bool is_proven = !holds() && (is_believed || (leaves_enough(of.since, now, *claim_) && of.proves(n, number_)));]=])
bend(contender.cpp
  FROM [=[  of.take_proven(n);]=]
  TO [=[  of.take_proven(n);
  if (is_believed) {
    of.answered = true;
    of.since = now;
    of.ballot.accepted = token();
  }]=])

# A holder gives a vote back if it is told of a claim that goes first.
bend(coordinator.cpp
  FROM [=[  if (!c->machine.holds() && !is_request)]=]
  TO [=[  if ((!c->machine.holds() || is_bent(mutant::holder_yields)) && !is_request)]=])

# A hold is not claimed at servers that lack it.
bend(coordinator.cpp
  FROM [=[  if (!c || !c->machine.holds()) return;]=]
  TO [=[  if (!c || !c->machine.holds() || is_bent(mutant::hold_not_spread)) return;]=])

# The token does not stand beside the hold.
bend(contender.cpp
  FROM [=[  if (holds() && metadata)]=]
  TO [=[  if (holds() && metadata && !is_bent(mutant::token_not_told))]=])

# An answer revives votes of other servers that had lapsed while it was under way.
bend(contender.cpp
  FROM [=[    of.take(*reply, token());]=]
  TO [=[    of.take(*reply, token());
    for (server_vote& each : votes_)
      if (is_bent(mutant::lapsed_votes_revived) && of.at == standing::granted && each.at == standing::granted &&
          each.since + ttl_ <= now)
        each.since = of.since;]=])

# A holder is not told of a request to release.
bend(coordinator.cpp
  FROM [=[  const bool is_revoked = n.kind == notification_kind::revoked;]=]
  TO [=[  const bool is_revoked = n.kind == notification_kind::revoked;
  if (n.kind == notification_kind::release_requested && is_bent(mutant::request_unheard)) return;]=])

# Proposals are right above the fences, and take no account of the clocks.
bend(contender.cpp
  FROM [=[    consider_number(std::max(after_fence(each), present));]=]
  TO [=[    if (!is_bent(mutant::proposal_without_clock)) consider_number(std::max(after_fence(each), present));]=])

# No client writes its set; and, apart from that, a client claims though a server keeps another one.
bend(coordinator.cpp
  FROM [=[    to_.join(each, set_.text());]=]
  TO [=[    if (!is_bent(mutant::servers_not_told_set)) to_.join(each, set_.text());]=])
bend(server_set.cpp
  FROM [=[  if (of.is != state::conflicts) return std::nullopt;]=]
  TO [=[  if (of.is != state::conflicts || is_bent(mutant::other_set_ignored)) return std::nullopt;]=])

# A client proposes numbers that are ten seconds ahead, now and then.
bend(place_in_time.cpp
  FROM [=[*middle + ahead;]=]
  TO [=[*middle + ahead +
      (is_bent(mutant::number_far_ahead) && now.time_since_epoch().count() % 16 == 0 ? 10s : 0s);]=])
