# For scripts of `cmake -P` that turn files into C++. They include this.

# files_behind_separator(VARIABLE): the arguments of the script behind "--".
function(files_behind_separator VARIABLE)
  set(files "")
  set(seen_separator FALSE)
  math(EXPR last "${CMAKE_ARGC} - 1")
  foreach(i RANGE ${last})
    if(seen_separator)
      list(APPEND files "${CMAKE_ARGV${i}}")
    elseif("${CMAKE_ARGV${i}}" STREQUAL "--")
      set(seen_separator TRUE)
    endif()
  endforeach()
  set(${VARIABLE} "${files}" PARENT_SCOPE)
endfunction()

# as_raw_string(VARIABLE FILE TEXT): the text of that file as a raw string.
function(as_raw_string VARIABLE FILE TEXT)
  set(delimiter "holdfast")
  string(FIND "${TEXT}" ")${delimiter}\"" found)
  if(NOT found EQUAL -1)
    message(FATAL_ERROR "${FILE} contains )${delimiter}\", which ends the string it would be embedded in")
  endif()
  set(${VARIABLE} "R\"${delimiter}(${TEXT})${delimiter}\"" PARENT_SCOPE)
endfunction()
