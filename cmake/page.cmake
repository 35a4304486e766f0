# cmake -DSOURCE=out.cpp -P page.cmake -- FILE...      (see HoldfastPage.cmake)

include(${CMAKE_CURRENT_LIST_DIR}/raw_strings.cmake)

set(body "")
files_behind_separator(files)
foreach(file IN LISTS files)
  file(READ "${file}" text)
  as_raw_string(literal "${file}" "${text}")
  cmake_path(GET file FILENAME name)
  string(APPEND body "    {\"/${name}\", ${literal}},\n")
endforeach()

file(WRITE "${SOURCE}" "// Generated; edit the files it was made from.\n#include \"serve/page_files.hpp\"\n\n"
  "namespace holdfast::cli {\n\nnamespace {\n\nconstexpr page_file files[] = {\n${body}};\n\n}  // namespace\n\n"
  "std::span<const page_file> page_files() { return files; }\n\n}  // namespace holdfast::cli\n")
