# Holdfast for vcpkg, built from the tree that this port lies in:
#
#   vcpkg install --editable 'holdfast[postgresql]' --overlay-ports=packaging/vcpkg
#
# Without --editable vcpkg installs what it once built and cached for these files and dependencies, also if the tree has
# changed since. One that is installed has to be removed first: vcpkg remove holdfast
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
    MAYBE_UNUSED_VARIABLES
        PKG_CONFIG_EXECUTABLE
)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/holdfast)
if(VCPKG_LIBRARY_LINKAGE STREQUAL "static")
    # The clients' own files also name what their static libraries need.
    set(package_mariadb libmariadb)
    set(package_postgresql libpq)
    set(package_redis openssl)
    set(package_sqlite sqlite3)
    set(packages "")
    foreach(feature IN LISTS FEATURES)
        string(APPEND packages " ${package_${feature}}")
    endforeach()
    file(GLOB files "${CURRENT_PACKAGES_DIR}/lib/pkgconfig/*.pc" "${CURRENT_PACKAGES_DIR}/debug/lib/pkgconfig/*.pc")
    foreach(file IN LISTS files)
        vcpkg_replace_string("${file}" "Libs.private: [^\n]*"
            "Libs.private: -lstdc++ -lm\nRequires.private:${packages}" REGEX)
    endforeach()
endif()
vcpkg_fixup_pkgconfig()
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
file(INSTALL "${CURRENT_PORT_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
