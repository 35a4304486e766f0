# holdfast_embed(TARGET HEADER header NAMESPACE namespace FILES glob... [OVERRIDES folder])
#
# Turns the text files of the calling folder that match the glob into one header of constants, named after the files:
# acquire.sql becomes `inline constexpr std::string_view acquire`. TARGET and its dependents find it as "header", here
# "stores/sqlite/protocol/statements.hpp". It is made anew when a file changes, appears or goes.
#
# A line `--@include other.lua`, or `--@include other.sql`, stands for that file's text: the one in OVERRIDES if there is
# one, or in the folder above that, else the one beside the file. Of an .lua file `acquire_sha1` is made beside `acquire`.
#
# The header lies beside the layer's link to src/, in an include folder of its own, so that nothing is generated into src/.
add_custom_target(holdfast_generated) # all such headers: what clang-tidy needs to be built
set(holdfast_raw_strings ${CMAKE_CURRENT_LIST_DIR}/raw_strings.cmake)
set(holdfast_embed_script ${CMAKE_CURRENT_LIST_DIR}/embed.cmake)

function(holdfast_embed TARGET)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "HEADER;NAMESPACE;OVERRIDES" "FILES")
  set(include_root ${PROJECT_BINARY_DIR}/generated/${TARGET})
  set(header ${include_root}/${ARG_HEADER})
  cmake_path(GET header STEM stem)
  file(GLOB files CONFIGURE_DEPENDS ${ARG_FILES})

  add_custom_command(OUTPUT ${header}
    COMMAND ${CMAKE_COMMAND} -DHEADER=${header} -DNAMESPACE=${ARG_NAMESPACE}
      -DOVERRIDES=${ARG_OVERRIDES} -P ${holdfast_embed_script} -- ${files}
    DEPENDS ${files} ${holdfast_embed_script} ${holdfast_raw_strings}
    COMMENT "Embedding ${ARG_FILES} as ${ARG_HEADER}"
    VERBATIM)
  add_custom_target(${TARGET}_${stem}_embedded DEPENDS ${header})
  add_dependencies(${TARGET} ${TARGET}_${stem}_embedded)
  add_dependencies(holdfast_generated ${TARGET}_${stem}_embedded)

  get_target_property(type ${TARGET} TYPE)
  if(type STREQUAL "INTERFACE_LIBRARY")
    target_include_directories(${TARGET} INTERFACE ${include_root})
  else()
    target_include_directories(${TARGET} PUBLIC ${include_root})
  endif()
endfunction()
