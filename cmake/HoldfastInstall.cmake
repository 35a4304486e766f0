# What is installed, as three components that are also the three Debian packages (debian/rules):
#   library      libholdfast0.1    the shared library, by its SONAME
#   development  libholdfast-dev   static library, headers, CMake package, pkg-config file, examples
#   command      holdfast          the command, its man page, its completions, its service; the documentation
include(CMakePackageConfigHelpers)

install(TARGETS holdfast EXPORT holdfast
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library NAMELINK_COMPONENT development)
if(holdfast_static)
  install(TARGETS holdfast_static EXPORT holdfast-static
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
endif()

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/holdfast DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
install(FILES ${PROJECT_BINARY_DIR}/include/holdfast/version.hpp
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/holdfast COMPONENT development)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/holdfast)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/holdfast-config.cmake.in
  ${PROJECT_BINARY_DIR}/holdfast-config.cmake INSTALL_DESTINATION ${package_dir})
# Before 1.0 a minor version may break what the one before promised.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/holdfast-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/holdfast-config.cmake ${PROJECT_BINARY_DIR}/holdfast-config-version.cmake
  ${CMAKE_CURRENT_LIST_DIR}/HoldfastClients.cmake DESTINATION ${package_dir} COMPONENT development)
install(EXPORT holdfast NAMESPACE holdfast:: FILE holdfast-targets.cmake
  DESTINATION ${package_dir} COMPONENT development)
if(holdfast_static)
  install(EXPORT holdfast-static NAMESPACE holdfast:: FILE holdfast-static-targets.cmake
    DESTINATION ${package_dir} COMPONENT development)
endif()

# The file finds its prefix from where it lies, so that a tree may be moved or staged.
file(RELATIVE_PATH pc_to_prefix
  /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
# Flags and not Requires.private: with that pkg-config fails without the clients' packages, also for the shared library.
set(flags_sqlite -lsqlite3)
set(flags_redis -lssl -lcrypto)
set(flags_zookeeper -lzookeeper_st)
set(flags_postgresql -lpq)
set(flags_mariadb -lmariadb)
set(pc_private -lstdc++ -lm)
if(HOLDFAST_LOADED_CLIENTS)
  list(PREPEND pc_private -ldl)
endif()
foreach(store IN LISTS holdfast_linked_stores)
  list(PREPEND pc_private ${flags_${store}})
endforeach()
list(JOIN pc_private " " pc_private)
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
  PATTERN packaging/conan EXCLUDE PATTERN packaging/rpm EXCLUDE PATTERN packaging/vcpkg EXCLUDE
  PATTERN docs/adr EXCLUDE PATTERN docs/architecture.md EXCLUDE
  PATTERN docs/evidence.md EXCLUDE)
install(CODE "set(documentation \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${documentation}\")" COMPONENT command)
install(SCRIPT ${CMAKE_CURRENT_LIST_DIR}/InstalledLinks.cmake COMPONENT command)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/examples DESTINATION ${documentation} COMPONENT development
  PATTERN CMakeLists.txt EXCLUDE PATTERN demo.sh EXCLUDE)

# All that `cmake --install` copies and that has to be built.
add_custom_target(installable)
foreach(target holdfast holdfast_static holdfast-cli holdfast-completions)
  if(TARGET ${target})
    add_dependencies(installable ${target})
  endif()
endforeach()
