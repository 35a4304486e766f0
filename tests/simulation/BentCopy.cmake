# Copies of some layers with mutants in them, for test_sim in place of the library's. As in the scripts, a mutant is a
# replaced text, which has to occur exactly once. One copy serves all mutants: each asks which of them this run has.

set(bent_root ${CMAKE_CURRENT_BINARY_DIR}/bent)
set(bent_copies)
foreach(folder core lease runtime stores/quorum/protocol)
  file(GLOB files CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/src
    ${PROJECT_SOURCE_DIR}/src/${folder}/*.cpp ${PROJECT_SOURCE_DIR}/src/${folder}/*.hpp)
  list(APPEND bent_copies ${files})
endforeach()
foreach(file IN LISTS bent_copies)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${file})
  file(READ ${PROJECT_SOURCE_DIR}/src/${file} text_of_${file})
endforeach()

# bend(file FROM text TO text), in bent_folder
function(bend FILE)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "FROM;TO" "")
  set(file ${bent_folder}/${FILE})
  set(text "${text_of_${file}}")
  string(FIND "${text}" "${ARG_FROM}" first)
  string(FIND "${text}" "${ARG_FROM}" last REVERSE)
  if(first EQUAL -1 OR NOT first EQUAL last)
    message(FATAL_ERROR "A mutant does not fit ${file} any more:\n${ARG_FROM}")
  endif()
  string(REPLACE "${ARG_FROM}" "${ARG_TO}" text "${text}")
  set(text_of_${file} "${text}" PARENT_SCOPE)
endfunction()

include(BentCore.cmake)
include(quorum/BentProtocol.cmake)

foreach(file IN LISTS bent_copies)
  set(text "${text_of_${file}}")
  set(asks "#include \"simulation/is_bent.hpp\"\n")
  if(file MATCHES "hpp$")
    string(REPLACE "#pragma once\n" "#pragma once\n\n${asks}" text "${text}")
  else()
    string(PREPEND text "${asks}")
    list(APPEND bent_files ${bent_root}/${file})
  endif()
  file(CONFIGURE OUTPUT ${bent_root}/${file} CONTENT "${text}" @ONLY)
endforeach()
