# holdfast_page(TARGET FOLDER) adds a generated source to the target, with the text files of the folder (HTML, CSS,
# JavaScript, SVG). It is made anew when a file changes, appears or goes. See cli/serve/page_files.hpp.
set(holdfast_raw_strings ${CMAKE_CURRENT_LIST_DIR}/raw_strings.cmake)
set(holdfast_page_script ${CMAKE_CURRENT_LIST_DIR}/page.cmake)

function(holdfast_page TARGET FOLDER)
  set(source ${CMAKE_CURRENT_BINARY_DIR}/page.cpp)
  file(GLOB files CONFIGURE_DEPENDS ${FOLDER}/*.html ${FOLDER}/*.css ${FOLDER}/*.js ${FOLDER}/*.svg)
  add_custom_command(OUTPUT ${source}
    COMMAND ${CMAKE_COMMAND} -DSOURCE=${source} -P ${holdfast_page_script} -- ${files}
    DEPENDS ${files} ${holdfast_page_script} ${holdfast_raw_strings}
    COMMENT "Embedding the page of holdfast serve"
    VERBATIM)
  target_sources(${TARGET} PRIVATE ${source})
  set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()
