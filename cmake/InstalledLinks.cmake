# The installed pages, whose links lead to what is not installed: the sources, the pages for developers. Such a link
# becomes its text. Runs at the installation; `documentation` is their folder.
set(not_installed
  "(\\.\\./)*((docs/)?(adr/|architecture\\.md|evidence\\.md)|CONTRIBUTING\\.md|(src|tests|bench|cli|include|scripts|cmake)/)")
file(GLOB_RECURSE pages ${documentation}/*.md)
foreach(page IN LISTS pages)
  file(READ ${page} text)
  string(REGEX REPLACE "\\[([^]]*)\\]\\(${not_installed}[^)]*\\)" "\\1" shown "${text}")
  if(NOT shown STREQUAL text)
    file(WRITE ${page} "${shown}")
  endif()
endforeach()
