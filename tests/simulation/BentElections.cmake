# A copy of lease/observers and core/leader_tracker with mutants in it, for test_sim: see BentCopy.cmake.

set(bent_sources core/leader_tracker.hpp core/leader_tracker.cpp lease/observers.hpp lease/observers.cpp)
read_to_bend(${bent_sources})

# An observer reports a leader of an older term as soon as it sees one.
bend(leader_tracker.cpp
  FROM [=[  return now < older_->outlived;]=]
  TO [=[  return now < older_->outlived && !is_bent(mutant::older_term_shown);]=])

write_bent(${bent_sources})
