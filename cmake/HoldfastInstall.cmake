# What is installed, as three components that are also the three Debian packages:
#   library      libholdfast0.1    the shared library, by its SONAME
#   development  libholdfast-dev   headers, CMake package, pkg-config file, examples
#   command      holdfast          the command, its man page, its completions, its service; the documentation
include(CMakePackageConfigHelpers)

set(library_package libholdfast${holdfast_soversion})

install(TARGETS holdfast EXPORT holdfast
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library NAMELINK_COMPONENT development)

install(FILES ${PROJECT_SOURCE_DIR}/LICENSE
  DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${library_package} RENAME copyright COMPONENT library) # where Debian looks for it

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/holdfast DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
install(FILES ${PROJECT_BINARY_DIR}/include/holdfast/version.hpp
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/holdfast COMPONENT development)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/holdfast)
set(holdfast_components)
foreach(store sqlite redis zookeeper postgresql mariadb)
  string(TOUPPER ${store} STORE)
  if(HOLDFAST_${STORE})
    list(APPEND holdfast_components ${store})
  endif()
endforeach()
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/holdfast-config.cmake.in
  ${PROJECT_BINARY_DIR}/holdfast-config.cmake INSTALL_DESTINATION ${package_dir})
# Before 1.0 a minor version may break what the one before promised.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/holdfast-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/holdfast-config.cmake ${PROJECT_BINARY_DIR}/holdfast-config-version.cmake
  DESTINATION ${package_dir} COMPONENT development)
install(EXPORT holdfast NAMESPACE holdfast:: FILE holdfast-targets.cmake
  DESTINATION ${package_dir} COMPONENT development)

# The file finds its prefix from where it lies, so that a tree may be moved or staged.
file(RELATIVE_PATH pc_to_prefix
  /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
configure_file(${CMAKE_CURRENT_LIST_DIR}/holdfast.pc.in ${PROJECT_BINARY_DIR}/holdfast.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/holdfast.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)

if(TARGET holdfast-cli)
  install(TARGETS holdfast-cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT command)
  if(EXISTS ${PROJECT_SOURCE_DIR}/cli/holdfast.1)
    install(FILES ${PROJECT_SOURCE_DIR}/cli/holdfast.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT command)
  endif()
  if(TARGET holdfast-completions)
    set(completion ${PROJECT_BINARY_DIR}/cli/completion)
    set(share ${CMAKE_INSTALL_DATADIR})
    install(FILES ${completion}.bash DESTINATION ${share}/bash-completion/completions RENAME holdfast COMPONENT command)
    install(FILES ${completion}.zsh DESTINATION ${share}/zsh/vendor-completions RENAME _holdfast COMPONENT command)
    install(FILES ${completion}.fish DESTINATION ${share}/fish/vendor_completions.d RENAME holdfast.fish
      COMPONENT command)
  endif()
  # systemd looks in lib, whatever the folder of libraries is. It is there to be enabled; nothing starts it.
  install(FILES ${PROJECT_SOURCE_DIR}/packaging/systemd/holdfast-serve.service DESTINATION lib/systemd/system
    COMPONENT command)
endif()

# As they lie in the sources, so that the links between them hold. Without the pages for developers of Holdfast.
set(documentation ${CMAKE_INSTALL_DATADIR}/doc/holdfast)
install(FILES ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/SECURITY.md ${PROJECT_SOURCE_DIR}/CHANGELOG.md
  ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${documentation} COMPONENT command)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs ${PROJECT_SOURCE_DIR}/packaging DESTINATION ${documentation} COMPONENT command
  PATTERN packaging/deb EXCLUDE PATTERN docs/adr EXCLUDE PATTERN docs/architecture.md EXCLUDE
  PATTERN docs/evidence.md EXCLUDE)
install(CODE "set(documentation \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${documentation}\")" COMPONENT command)
install(SCRIPT ${CMAKE_CURRENT_LIST_DIR}/InstalledLinks.cmake COMPONENT command)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/examples DESTINATION ${documentation} COMPONENT development
  PATTERN CMakeLists.txt EXCLUDE PATTERN demo.sh EXCLUDE)

# All that `cmake --install` copies and that has to be built.
add_custom_target(installable DEPENDS holdfast)
foreach(target holdfast-cli holdfast-completions)
  if(TARGET ${target})
    add_dependencies(installable ${target})
  endif()
endforeach()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME holdfast)
set(CPACK_PACKAGE_CONTACT "The Holdfast authors")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL library development)
if(TARGET holdfast-cli)
  list(APPEND CPACK_COMPONENTS_ALL command)
endif()
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}/src) # where the command finds the library
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=") # a later version of the same SONAME does as well
set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME ${library_package})
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libholdfast-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SUGGESTS "libboost-dev, holdfast") # for <holdfast/async.hpp>; for the documentation
set(CPACK_DEBIAN_COMMAND_PACKAGE_NAME holdfast)
set(CPACK_DEBIAN_COMMAND_PACKAGE_SECTION admin)
# The service goes on with a new version, and ends with the package.
set(CPACK_DEBIAN_COMMAND_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/packaging/deb/postinst
  ${PROJECT_SOURCE_DIR}/packaging/deb/prerm ${PROJECT_SOURCE_DIR}/packaging/deb/postrm)
set(CPACK_DEBIAN_COMMAND_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_COMPONENT_DEVELOPMENT_DEPENDS library)
set(CPACK_COMPONENT_COMMAND_DEPENDS library)
include(CPack)
