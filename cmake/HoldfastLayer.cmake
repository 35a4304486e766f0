# holdfast_layer(NAME [DEPENDS layer...] [LINK library...] [WITH file.cpp...] [WITHOUT file.cpp...])
#
# One layer of src/, as the target holdfast_NAME: all *.cpp of the calling folder. It may include the public headers, its
# own, and those of the layers in DEPENDS (and of what these depend on), and nothing else: a wrong include does not
# build. This works since src/ is on nobody's include path. Each layer gets an include folder with one symbolic link
# in it, build/layers/NAME/<path below src> -> src/<path below src>, and passes it on to its dependents. So
# "core/port.hpp" is found from lease, while "lease/keeper.hpp" is not found from core.
#
# WITH names sources in folders below, WITHOUT those of components that are not built. LINK names libraries for this layer alone: a vendor's headers stop there.
#
# A layer that has no *.cpp is an INTERFACE library. The layers are OBJECT libraries, so that nothing is dropped at link
# time (a URL scheme that registers itself), gathered by holdfast_internal in src/CMakeLists.txt.

# What users see is visible to every layer, and the generated version header with it.
configure_file(${CMAKE_CURRENT_LIST_DIR}/version.hpp.in
  ${PROJECT_BINARY_DIR}/include/holdfast/version.hpp @ONLY)
add_library(holdfast_headers INTERFACE)
target_include_directories(holdfast_headers INTERFACE
  ${PROJECT_SOURCE_DIR}/include ${PROJECT_BINARY_DIR}/include)

function(holdfast_layer NAME)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "" "" "DEPENDS;LINK;WITH;WITHOUT")
  set(target holdfast_${NAME})

  file(RELATIVE_PATH place ${PROJECT_SOURCE_DIR}/src ${CMAKE_CURRENT_SOURCE_DIR})
  set(include_root ${PROJECT_BINARY_DIR}/layers/${NAME})
  cmake_path(GET place PARENT_PATH parent)
  file(MAKE_DIRECTORY ${include_root}/${parent})
  file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR} ${include_root}/${place} SYMBOLIC)

  file(GLOB sources RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} CONFIGURE_DEPENDS *.cpp)
  if(ARG_WITHOUT)
    list(REMOVE_ITEM sources ${ARG_WITHOUT})
  endif()
  list(APPEND sources ${ARG_WITH})
  if(sources)
    set(scope PUBLIC)
    add_library(${target} OBJECT ${sources})
    holdfast_compile_options(${target})
    holdfast_installed_options(${target})
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      target_compile_options(${target} PRIVATE -fno-gnu-unique) # objcopy cannot make such names local
    endif()
    target_link_libraries(${target} PRIVATE ${ARG_LINK})
    # The public headers must know that they are being compiled into the library.
    target_compile_definitions(${target} PRIVATE HOLDFAST_BUILDING)
  else()
    set(scope INTERFACE)
    add_library(${target} INTERFACE)
  endif()
  target_include_directories(${target} ${scope} ${include_root})
  list(TRANSFORM ARG_DEPENDS PREPEND holdfast_)
  target_link_libraries(${target} ${scope} holdfast_headers ${ARG_DEPENDS})
  set_property(GLOBAL APPEND PROPERTY HOLDFAST_LAYERS ${target})
endfunction()
