# A copy of lease/observers and core/leader_tracker with mutants in it, for test_sim: see quorum/BentProtocol.cmake.

foreach(file core/leader_tracker.hpp core/leader_tracker.cpp lease/observers.hpp lease/observers.cpp)
  set(source ${PROJECT_SOURCE_DIR}/src/${file})
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
  cmake_path(GET source FILENAME name)
  file(READ ${source} text_of_${name})
endforeach()

# An observer reports a leader of an older term as soon as it sees one.
bend(leader_tracker.cpp
  FROM [=[  return now < older_->outlived;]=]
  TO [=[  return now < older_->outlived && !is_bent(mutant::older_term_shown);]=])

foreach(name leader_tracker.hpp leader_tracker.cpp observers.hpp observers.cpp)
  set(text "${text_of_${name}}")
  string(REPLACE "\"core/leader_tracker.hpp\"" "\"bent/leader_tracker.hpp\"" text "${text}")
  string(REPLACE "\"lease/observers.hpp\"" "\"bent/observers.hpp\"" text "${text}")
  string(REPLACE "store::leader_tracker" "bent_store::leader_tracker" text "${text}")
  string(REPLACE "namespace holdfast::store {" "namespace holdfast::bent_store {\n\nusing namespace store;\nusing sim::is_bent;\nusing sim::mutant;\n" text "${text}")
  string(REPLACE "namespace holdfast::lease_core {" "namespace holdfast::bent_lease {\n\nusing namespace lease_core;\n" text "${text}")
  string(REPLACE "#pragma once\n" "#pragma once\n\n#include \"simulation/quorum/is_bent.hpp\"\n" text "${text}")
  file(CONFIGURE OUTPUT ${bent_root}/bent/${name} CONTENT "${text}" @ONLY)
endforeach()
list(APPEND bent_files ${bent_root}/bent/leader_tracker.cpp ${bent_root}/bent/observers.cpp)
