# cmake -DSOURCE=out.cpp -P page.cmake -- FILE...      (see HoldfastPage.cmake)

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
  string(FIND "${text}" ")${delimiter}\"" found)
  if(NOT found EQUAL -1)
    message(FATAL_ERROR "${file} contains )${delimiter}\", which ends the string it would be embedded in")
  endif()
  cmake_path(GET file FILENAME name)
  string(APPEND body "    {\"/${name}\", R\"${delimiter}(${text})${delimiter}\"},\n")
endforeach()

file(WRITE "${SOURCE}" "// Generated; edit the files it was made from.\n#include \"serve/page_files.hpp\"\n\n"
  "namespace holdfast::cli {\n\nnamespace {\n\nconstexpr page_file files[] = {\n${body}};\n\n}  // namespace\n\n"
  "std::span<const page_file> page_files() { return files; }\n\n}  // namespace holdfast::cli\n")
