# cmake -DHEADER=out.hpp -DNAMESPACE=a::b -P embed.cmake -- FILE...      (see HoldfastEmbed.cmake)

set(delimiter "holdfast") # of the raw strings
set(body "")
set(seen_separator FALSE)
math(EXPR last "${CMAKE_ARGC} - 1")
foreach(i RANGE ${last})
  set(file "${CMAKE_ARGV${i}}")
  if(NOT seen_separator)
    if(file STREQUAL "--")
      set(seen_separator TRUE)
    endif()
    continue()
  endif()

  file(READ "${file}" text)
  cmake_path(GET file EXTENSION LAST_ONLY extension)
  cmake_path(GET file PARENT_PATH folder)
  while(text MATCHES "--@include ([a-z_]+[.](lua|sql))\n")
    set(line "${CMAKE_MATCH_0}")
    file(READ "${folder}/${CMAKE_MATCH_1}" included)
    string(REPLACE "${line}" "${included}" text "${text}")
  endwhile()
  string(FIND "${text}" ")${delimiter}\"" found)
  if(NOT found EQUAL -1)
    message(FATAL_ERROR "${file} contains )${delimiter}\", which ends the string it would be embedded in")
  endif()
  cmake_path(GET file STEM name)
  string(MAKE_C_IDENTIFIER "${name}" name)
  string(APPEND body
    "\ninline constexpr std::string_view ${name} = R\"${delimiter}(${text})${delimiter}\";\n")
  if(extension STREQUAL ".lua") # by which a server knows a script
    string(SHA1 digest "${text}")
    string(APPEND body "inline constexpr std::string_view ${name}_sha1 = \"${digest}\";\n")
  endif()
endforeach()

file(WRITE "${HEADER}" "// Generated; edit the files it was made from.\n#pragma once\n\n#include <string_view>\n\n"
  "namespace ${NAMESPACE} {\n${body}\n}  // namespace ${NAMESPACE}\n")
