# Holdfast for vcpkg, built from the tree that this port lies in:
#
#   vcpkg install 'holdfast[postgresql]' --overlay-ports=packaging/vcpkg
#
# There is no feature for ZooKeeper: vcpkg's port of the client builds either the single-threaded library, which Holdfast
# needs, or the other, by what else is installed, under one name.
set(SOURCE_PATH "${CURRENT_PORT_DIR}/../..")

vcpkg_check_features(OUT_FEATURE_OPTIONS FEATURE_OPTIONS
    FEATURES
        command    HOLDFAST_CLI
        mariadb    HOLDFAST_MARIADB
        postgresql HOLDFAST_POSTGRESQL
        redis      HOLDFAST_REDIS
        sqlite     HOLDFAST_SQLITE
)

vcpkg_find_acquire_program(PKGCONFIG)
set(pkg_config_arguments "")
if(VCPKG_LIBRARY_LINKAGE STREQUAL "static")
    set(pkg_config_arguments --static)
endif()
vcpkg_cmake_configure(
    SOURCE_PATH "${SOURCE_PATH}"
    OPTIONS
        ${FEATURE_OPTIONS}
        -DHOLDFAST_ZOOKEEPER=OFF
        -DHOLDFAST_TESTS=OFF
        -DHOLDFAST_BENCH=OFF
        -DHOLDFAST_EXAMPLES=OFF
        "-DHOLDFAST_BOOST_INCLUDE_DIR=${CURRENT_INSTALLED_DIR}/include"
        "-DPKG_CONFIG_EXECUTABLE=${PKGCONFIG}"
        "-DPKG_CONFIG_ARGN=${pkg_config_arguments}"
    MAYBE_UNUSED_VARIABLES
        PKG_CONFIG_ARGN
        PKG_CONFIG_EXECUTABLE
)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/holdfast)
vcpkg_fixup_pkgconfig()
if(VCPKG_LIBRARY_LINKAGE STREQUAL "static")
    # Programs link what the clients need, too, as in the build above.
    vcpkg_replace_string("${CURRENT_PACKAGES_DIR}/share/holdfast/HoldfastClients.cmake"
        "find_package(PkgConfig \${holdfast_required})"
        "find_package(PkgConfig \${holdfast_required})\n  set(PKG_CONFIG_ARGN --static)")
endif()
if("command" IN_LIST FEATURES)
    vcpkg_copy_tools(TOOL_NAMES holdfast AUTO_CLEAN)
endif()
file(REMOVE_RECURSE
    "${CURRENT_PACKAGES_DIR}/debug/include"
    "${CURRENT_PACKAGES_DIR}/debug/share"
    "${CURRENT_PACKAGES_DIR}/debug/lib/systemd"
    "${CURRENT_PACKAGES_DIR}/lib/systemd"
    "${CURRENT_PACKAGES_DIR}/share/bash-completion"
    "${CURRENT_PACKAGES_DIR}/share/doc"
    "${CURRENT_PACKAGES_DIR}/share/fish"
    "${CURRENT_PACKAGES_DIR}/share/man"
    "${CURRENT_PACKAGES_DIR}/share/zsh"
)
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
