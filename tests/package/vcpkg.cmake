# cmake -DLINKAGE=static|dynamic -DFEATURES=a,b -DWORK=DIR -P tests/package/vcpkg.cmake
#
# Runs packaging/vcpkg/portfile.cmake without vcpkg, which no registry has: these functions do what vcpkg documents of its
# own, for the release build alone. The package is in DIR/package, as vcpkg would install it; libraries come from the system.
cmake_minimum_required(VERSION 3.25)
set(CURRENT_PORT_DIR ${CMAKE_CURRENT_LIST_DIR}/../../packaging/vcpkg)
set(CURRENT_PACKAGES_DIR ${WORK}/package)
set(CURRENT_INSTALLED_DIR /usr)
set(PORT holdfast)
set(VCPKG_LIBRARY_LINKAGE ${LINKAGE})
string(REPLACE "," ";" FEATURES "${FEATURES}")

function(parsed) # nothing is passed that vcpkg does not know
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "vcpkg has no arguments ${arg_UNPARSED_ARGUMENTS}")
  endif()
endfunction()

function(vcpkg_check_features)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "OUT_FEATURE_OPTIONS" "FEATURES;INVERTED_FEATURES")
  parsed()
  file(READ ${CURRENT_PORT_DIR}/vcpkg.json manifest)
  while(arg_FEATURES)
    list(POP_FRONT arg_FEATURES feature option)
    string(JSON known GET "${manifest}" features ${feature} description) # ends here if it is not there
    if(feature IN_LIST FEATURES)
      list(APPEND options -D${option}=ON)
    else()
      list(APPEND options -D${option}=OFF)
    endif()
  endwhile()
  set(${arg_OUT_FEATURE_OPTIONS} ${options} PARENT_SCOPE)
endfunction()

function(vcpkg_find_acquire_program NAME)
  string(TOLOWER ${NAME} names)
  find_program(${NAME} NAMES ${names} pkg-config REQUIRED)
  set(${NAME} ${${NAME}} PARENT_SCOPE)
endfunction()

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

function(vcpkg_cmake_configure)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "SOURCE_PATH" "OPTIONS;OPTIONS_RELEASE;OPTIONS_DEBUG;MAYBE_UNUSED_VARIABLES")
  parsed()
  string(COMPARE EQUAL ${LINKAGE} dynamic shared)
  execute_process(COMMAND ${CMAKE_COMMAND} -S ${arg_SOURCE_PATH} -B ${WORK}/build -G Ninja ${arg_OPTIONS} ${arg_OPTIONS_RELEASE}
    -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=${shared} -DCMAKE_INSTALL_PREFIX=${CURRENT_PACKAGES_DIR}
    -DCMAKE_INSTALL_LIBDIR=lib -DCMAKE_INSTALL_BINDIR=bin
    -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=12 # for the time
    COMMAND_ERROR_IS_FATAL ANY ERROR_VARIABLE said ECHO_ERROR_VARIABLE)
  if(said MATCHES "Manually-specified variables were not used[^:]*:(.*)")
    string(REGEX MATCHALL "[A-Z_]+" unused "${CMAKE_MATCH_1}")
    list(REMOVE_ITEM unused ${arg_MAYBE_UNUSED_VARIABLES} CMAKE_UNITY_BUILD_BATCH_SIZE)
    if(unused)
      message(FATAL_ERROR "the build does not know ${unused}")
    endif()
  endif()
endfunction()

function(vcpkg_cmake_install)
  run(${CMAKE_COMMAND} --build ${WORK}/build --target install)
endfunction()

# The files move one folder up, and find their prefix from there.
function(vcpkg_cmake_config_fixup)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "CONFIG_PATH;PACKAGE_NAME" "")
  parsed()
  file(GLOB files ${CURRENT_PACKAGES_DIR}/${arg_CONFIG_PATH}/*.cmake)
  foreach(file IN LISTS files)
    file(READ ${file} text)
    string(REPLACE "/../../../" "/../../" text "${text}")
    string(REPLACE "get_filename_component(_IMPORT_PREFIX \"\${CMAKE_CURRENT_LIST_FILE}\" PATH)" "set(_IMPORT_PREFIX \"\${CMAKE_CURRENT_LIST_DIR}/../..\")\nset(ignored" text "${text}")
    string(REGEX REPLACE "set\\(ignored.*_IMPORT_PREFIX STREQUAL" "if(_IMPORT_PREFIX STREQUAL" text "${text}")
    cmake_path(GET file FILENAME name)
    file(WRITE ${CURRENT_PACKAGES_DIR}/share/${PORT}/${name} "${text}")
  endforeach()
  file(REMOVE_RECURSE ${CURRENT_PACKAGES_DIR}/lib/cmake)
endfunction()

function(vcpkg_fixup_pkgconfig)
  if(NOT EXISTS ${CURRENT_PACKAGES_DIR}/lib/pkgconfig/holdfast.pc)
    message(FATAL_ERROR "no file for pkg-config")
  endif()
endfunction()

function(vcpkg_replace_string FILE OLD NEW)
  file(READ ${FILE} text)
  string(REPLACE "${OLD}" "${NEW}" changed "${text}")
  if(changed STREQUAL text)
    message(FATAL_ERROR "${FILE} does not have ${OLD}")
  endif()
  file(WRITE ${FILE} "${changed}")
endfunction()

function(vcpkg_copy_tools)
  cmake_parse_arguments(PARSE_ARGV 0 arg "AUTO_CLEAN" "" "TOOL_NAMES")
  parsed()
  foreach(tool IN LISTS arg_TOOL_NAMES)
    file(INSTALL ${CURRENT_PACKAGES_DIR}/bin/${tool} DESTINATION ${CURRENT_PACKAGES_DIR}/tools/${PORT} USE_SOURCE_PERMISSIONS)
    file(REMOVE ${CURRENT_PACKAGES_DIR}/bin/${tool})
  endforeach()
  file(REMOVE_RECURSE ${CURRENT_PACKAGES_DIR}/bin)
endfunction()

function(vcpkg_install_copyright)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "COMMENT" "FILE_LIST")
  parsed()
  configure_file(${arg_FILE_LIST} ${CURRENT_PACKAGES_DIR}/share/${PORT}/copyright COPYONLY)
endfunction()

include(${CURRENT_PORT_DIR}/portfile.cmake)

# vcpkg checks the package after the build, too.
file(GLOB_RECURSE libraries RELATIVE ${CURRENT_PACKAGES_DIR} ${CURRENT_PACKAGES_DIR}/lib/lib*)
list(FILTER libraries EXCLUDE REGEX [.]so[.])
if((LINKAGE STREQUAL "static" AND NOT libraries STREQUAL "lib/libholdfast.a")
    OR (LINKAGE STREQUAL "dynamic" AND NOT libraries STREQUAL "lib/libholdfast.so"))
  message(FATAL_ERROR "a package of linkage ${LINKAGE} has ${libraries}")
endif()
file(GLOB folders RELATIVE ${CURRENT_PACKAGES_DIR} ${CURRENT_PACKAGES_DIR}/* ${CURRENT_PACKAGES_DIR}/share/*
  ${CURRENT_PACKAGES_DIR}/lib/*)
list(FILTER folders EXCLUDE REGEX "^(include|lib|share|tools|share/holdfast|lib/pkgconfig|lib/libholdfast[.].*)$")
if(folders)
  message(FATAL_ERROR "the package has ${folders}")
endif()
