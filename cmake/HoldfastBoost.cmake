# Boost's headers (Asio): those that scripts/setup unpacked under .deps/ for the tests, else the system's. The library
# needs Asio's io_context and stream_descriptor alone, so Debian 12's Boost will do. The tests use cancel_after (1.86).
# Only headers are wanted, so Boost's own CMake packages, which differ from one distribution to the next, are not asked.
#
# Gives the target holdfast_boost. Nobody but src/runtime and what needs <holdfast/async.hpp> links it.

set(holdfast_boost_minimum 107400)
set(holdfast_boost_minimum_text 1.74)
if(HOLDFAST_TESTS)
  set(holdfast_boost_minimum 108600)
  set(holdfast_boost_minimum_text "1.86, for the tests,")
endif()

function(holdfast_boost_version INCLUDE_DIR RESULT)
  set(version 0)
  if(EXISTS ${INCLUDE_DIR}/boost/version.hpp)
    file(STRINGS ${INCLUDE_DIR}/boost/version.hpp line REGEX "^#define BOOST_VERSION [0-9]+")
    string(REGEX MATCH "[0-9]+" version "${line}")
  endif()
  set(${RESULT} ${version} PARENT_SCOPE)
endfunction()

if(NOT HOLDFAST_BOOST_INCLUDE_DIR)
  find_path(holdfast_system_boost boost/version.hpp NO_CACHE)
  foreach(candidate IN ITEMS ${PROJECT_SOURCE_DIR}/.deps/boost/include ${holdfast_system_boost})
    holdfast_boost_version(${candidate} version)
    if(version GREATER_EQUAL holdfast_boost_minimum)
      # Not into the cache: a build with tests, in the folder of one without, needs newer headers.
      set(HOLDFAST_BOOST_INCLUDE_DIR ${candidate})
      break()
    endif()
  endforeach()
endif()

if(HOLDFAST_BOOST_INCLUDE_DIR)
  holdfast_boost_version(${HOLDFAST_BOOST_INCLUDE_DIR} holdfast_boost_found)
else()
  set(holdfast_boost_found 0)
endif()
if(holdfast_boost_found LESS holdfast_boost_minimum)
  message(FATAL_ERROR
    "Holdfast needs Boost's headers, ${holdfast_boost_minimum_text} or newer. Neither .deps/ nor the system has them.\n"
    "On Debian run scripts/setup; elsewhere give -DHOLDFAST_BOOST_INCLUDE_DIR=DIR.")
endif()

add_library(holdfast_boost INTERFACE)
target_include_directories(holdfast_boost SYSTEM INTERFACE ${HOLDFAST_BOOST_INCLUDE_DIR})
target_compile_definitions(holdfast_boost INTERFACE
  BOOST_ASIO_NO_DEPRECATED
  # Asio marks its symbols visible against -fvisibility=hidden; our copy must not meet the user's Boost.
  BOOST_ASIO_DISABLE_VISIBILITY)
target_link_libraries(holdfast_boost INTERFACE Threads::Threads)
