# A copy of lease/set_claims with mutants in it, for test_sim: see quorum/BentProtocol.cmake.

foreach(name set_claims.hpp set_claims.cpp)
  set(source ${PROJECT_SOURCE_DIR}/src/lease/${name})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
  file(READ ${source} text_of_${name})
endforeach()

# A set that waits keeps the names after the one that it waits for.
bend(set_claims.cpp
  FROM [=[  give_back(asking, missing->first + 1);]=]
  TO [=[  if (!is_bent(mutant::set_keeps_names)) give_back(asking, missing->first + 1);]=])

# A set that ends without its names keeps those that it held.
bend(set_claims.cpp
  FROM [=[    give_back(ended, 0);]=]
  TO [=[    if (!is_bent(mutant::set_ends_holding)) give_back(ended, 0);]=])

# A set goes on as if it still held what it has lost.
bend(set_claims.cpp
  FROM [=[    if (of.held[name]->state() == lease_record::phase::held) continue;]=]
  TO [=[    if (of.held[name]->state() == lease_record::phase::held || is_bent(mutant::set_misses_losses)) continue;]=])

foreach(name set_claims.hpp set_claims.cpp)
  string(REPLACE "\"lease/set_claims.hpp\"" "\"bent/set_claims.hpp\"" text "${text_of_${name}}")
  string(REPLACE "namespace holdfast::lease_core {"
    "namespace holdfast::bent_lease {\n\nusing namespace lease_core;\nusing sim::is_bent;\nusing sim::mutant;\n" text "${text}")
  string(REPLACE "#pragma once\n" "#pragma once\n\n#include \"simulation/quorum/is_bent.hpp\"\n" text "${text}")
  file(CONFIGURE OUTPUT ${bent_root}/bent/${name} CONTENT "${text}" @ONLY)
endforeach()
list(APPEND bent_files ${bent_root}/bent/set_claims.cpp)
