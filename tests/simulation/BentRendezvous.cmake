# A copy of lease/rendezvous and core/arrivals with mutants in it, for test_sim: see BentCopy.cmake.

set(bent_sources core/arrivals.hpp core/arrivals.cpp lease/rendezvous.hpp lease/rendezvous.cpp)
read_to_bend(${bent_sources})

# A latch opens when one is missing.
bend(rendezvous.cpp
  FROM [=[  if (call.seen.is_complete()) return end(id, call.seen);]=]
  TO [=[  if (is_bent(mutant::latch_opens_early) && call.seen.arrived + 1 == call.seen.expected) ++call.seen.arrived;
  if (call.seen.is_complete()) return end(id, call.seen);]=])

# A count that is made again, after an answer that was unsure, counts beside the first.
bend(rendezvous.cpp
  FROM [=[former == at.counts.end() ? fresh : former->id]=]
  TO [=[former == at.counts.end() || is_bent(mutant::count_made_twice) ? fresh : former->id]=])

# A count that was refused is taken for one that never counts, though an earlier try may be carried out late.
bend(rendezvous.cpp
  FROM [=[    return end(id, refusal_of(call, state));]=]
  TO [=[    failure reason = refusal_of(call, state);
    if (is_bent(mutant::refused_count_forgotten)) call.unconfirmed.reset();
    return end(id, std::move(reason));]=])

# The counts of an object end with it.
bend(rendezvous.cpp
  FROM [=[    if (each.lease) leases_.leave(each.lease);]=]
  TO [=[    if (each.lease && is_bent(mutant::count_ends_with_object)) leases_.release(each.lease, nullptr);
    if (each.lease) leases_.leave(each.lease);]=])

# Who has arrived at a phase counts for the next one, too.
bend(arrivals.cpp
  FROM [=[      newest_arrived_.clear();
      parties.clear();]=]
  TO [=[      if (!is_bent(mutant::former_arrivals_count)) {
        newest_arrived_.clear();
        parties.clear();
      }]=])

# Two claims of one party count as two parties.
bend(arrivals.cpp
  FROM [=[    } else if (parties.insert(each.party).second) {]=]
  TO [=[    } else if (parties.insert(each.party).second || is_bent(mutant::party_counts_twice)) {]=])

# Who waits looks once: it is told of no change, and does not look by itself.
bend(rendezvous.cpp
  FROM [=[  if (call.watch) return;]=]
  TO [=[  if (call.watch || is_bent(mutant::waiter_looks_once)) return;]=])
bend(rendezvous.cpp
  FROM [=[  return time_.now() + longest_pause;]=]
  TO [=[  return time_.now() + longest_pause * (is_bent(mutant::waiter_looks_once) ? 1000 : 1);]=])

# A wait goes on though its object has lost a count.
bend(rendezvous.cpp
  FROM [=[    if (is_count && call.looks && !call.refused) counts_lost.push_back(id);]=]
  TO [=[    if (is_bent(mutant::count_loss_not_told)) continue;
    if (is_count && call.looks && !call.refused) counts_lost.push_back(id);]=])

# A party waits on though its arrival is lost, and the others wait for it.
bend(rendezvous.cpp
  FROM [=[    if (at.has_arrived && at.place == lease && !call.is_complete) arrivals_lost.push_back(id);]=]
  TO [=[    const bool is_told = !is_bent(mutant::arrival_loss_not_told);
    if (is_told && at.has_arrived && at.place == lease && !call.is_complete) arrivals_lost.push_back(id);]=])

write_bent(${bent_sources})
