# How our own code is compiled: holdfast_compile_options(TARGET...).

include(HoldfastUnity)

set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Kind of build" FORCE)
endif()

find_program(HOLDFAST_CCACHE ccache)
mark_as_advanced(HOLDFAST_CCACHE)
if(HOLDFAST_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${HOLDFAST_CCACHE})
endif()

if(HOLDFAST_SANITIZE)
  # For everything at once: a sanitizer that sees half of a program reports nonsense.
  add_compile_options(-fsanitize=${HOLDFAST_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${HOLDFAST_SANITIZE})
  if(HOLDFAST_SANITIZE MATCHES "address")
    add_compile_definitions(__SANITIZE_ADDRESS__) # as g++ defines it; clang does from its version 21 on
  endif()
  if(HOLDFAST_SANITIZE MATCHES "undefined")
    add_compile_options(-fno-sanitize-recover=undefined) # a finding fails the test, not only the log
    # It opens a pipe(2) to look at an object, and takes having no descriptor left, which tests bring about, for a finding.
    add_compile_options(-fno-sanitize=vptr)
  endif()
endif()

# holdfast_installed_options(TARGET): how the optimised code is compiled and linked that is installed.
include(CheckPIESupported)
check_pie_supported(LANGUAGES CXX) # executables are linked with -pie
function(holdfast_installed_options TARGET)
  # Two builds of one commit are equal, wherever they are.
  set(options -ffile-prefix-map=${PROJECT_SOURCE_DIR}=. -ffile-prefix-map=${PROJECT_BINARY_DIR}=build)
  set_target_properties(${TARGET} PROPERTIES BUILD_RPATH_USE_ORIGIN ON)
  # Fortified calls need optimisation, and a sanitizer has its own. With hardening a lock and an unlock take 23 650
  # instructions in place of 21 860 on Redis, and 10 940 in place of 9 990 in memory (bench/pair_cost). When they were
  # last counted apart, the stack protector was two thirds of that, CET's marks a quarter.
  if(HOLDFAST_HARDENING AND NOT HOLDFAST_SANITIZE)
    list(APPEND options
      -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3 # the headers take the highest that they and the compiler know
      -D_GLIBCXX_ASSERTIONS
      -fstack-protector-strong
      -fstack-clash-protection)
    if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|i[3-6]86)$")
      list(APPEND options -fcf-protection)
    elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
      list(APPEND options -mbranch-protection=standard)
    endif()
    get_target_property(type ${TARGET} TYPE)
    if(type MATCHES "EXECUTABLE|SHARED_LIBRARY|MODULE_LIBRARY")
      target_link_options(${TARGET} PRIVATE LINKER:-z,relro,-z,now,-z,noexecstack)
    endif()
  endif()
  target_compile_options(${TARGET} PRIVATE "$<$<NOT:$<CONFIG:Debug>>:${options}>")
endfunction()

function(holdfast_compile_options)
  foreach(target IN LISTS ARGN)
    target_compile_features(${target} PRIVATE cxx_std_20)
    set_target_properties(${target} PROPERTIES
      CXX_EXTENSIONS OFF
      CXX_VISIBILITY_PRESET hidden
      VISIBILITY_INLINES_HIDDEN ON)
    target_compile_options(${target} PRIVATE -Wall -Wextra -Wpedantic)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
      target_compile_options(${target} PRIVATE -Wthread-safety)
    endif()
    if(HOLDFAST_WERROR)
      target_compile_options(${target} PRIVATE -Werror)
    endif()
    if(CMAKE_UNITY_BUILD)
      # At the end of the folder, when the target has all its sources.
      cmake_language(EVAL CODE "cmake_language(DEFER CALL holdfast_unity ${target})")
    endif()
    if(CMAKE_UNITY_BUILD AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      # Each source is an included file there, and g++ takes its unnamed namespace for a header's.
      target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
    endif()
    if(HOLDFAST_SANITIZE STREQUAL "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      # g++ warns of every fence, Boost.Asio's included, that ThreadSanitizer does not model it.
      target_compile_options(${target} PRIVATE -Wno-tsan)
    endif()
  endforeach()
endfunction()
