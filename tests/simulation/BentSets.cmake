# A copy of lease/set_claims with mutants in it, for test_sim: see BentCopy.cmake.

set(bent_sources lease/set_claims.hpp lease/set_claims.cpp)
read_to_bend(${bent_sources})

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

write_bent(${bent_sources})
