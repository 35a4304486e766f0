# Copies of sources of core and lease with mutants in them, for test_sim, in namespaces of their own: see
# bent_namespaces.hpp, and quorum/BentProtocol.cmake for `bend`.

# read_to_bend(file...), below src
macro(read_to_bend)
  foreach(file ${ARGN})
    set(source ${PROJECT_SOURCE_DIR}/src/${file})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
    cmake_path(GET source FILENAME name)
    file(READ ${source} text_of_${name})
  endforeach()
endmacro()

# write_bent(file...): those that were read.
macro(write_bent)
  foreach(file ${ARGN})
    cmake_path(GET file FILENAME name)
    set(text "${text_of_${name}}")
    foreach(header ${ARGN})
      cmake_path(GET header FILENAME its_name)
      string(REPLACE "\"${header}\"" "\"bent/${its_name}\"" text "${text}")
    endforeach()
    string(REGEX REPLACE "([^a-z_])store::" "\\1bent_store::" text "${text}")
    string(REPLACE "namespace holdfast::store {" "namespace holdfast::bent_store {" text "${text}")
    string(REPLACE "namespace holdfast::lease_core {" "namespace holdfast::bent_lease {" text "${text}")
    string(REPLACE "#pragma once\n" "#pragma once\n\n#include \"simulation/bent_namespaces.hpp\"\n" text "${text}")
    file(CONFIGURE OUTPUT ${bent_root}/bent/${name} CONTENT "${text}" @ONLY)
    if(name MATCHES "cpp$")
      list(APPEND bent_files ${bent_root}/bent/${name})
    endif()
  endforeach()
endmacro()
