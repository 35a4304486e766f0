# The client libraries of the stores in holdfast_stores, as targets; holdfast_clients lists these. The build includes this
# file, and so does the installed package for programs that link the static library. holdfast_required is REQUIRED, or empty.

set(holdfast_clients Threads::Threads)
find_package(Threads ${holdfast_required})
if("sqlite" IN_LIST holdfast_stores)
  find_package(SQLite3 3.35 ${holdfast_required}) # 3.35 brought RETURNING
  list(APPEND holdfast_clients SQLite::SQLite3)
endif()
if("redis" IN_LIST holdfast_stores)
  find_package(OpenSSL 1.1.1 ${holdfast_required}) # for rediss://
  list(APPEND holdfast_clients OpenSSL::SSL OpenSSL::Crypto)
endif()
if("zookeeper" IN_LIST holdfast_stores)
  find_library(HOLDFAST_ZOOKEEPER_LIBRARY zookeeper_st ${holdfast_required}) # Apache's C client, single-threaded
  find_path(HOLDFAST_ZOOKEEPER_INCLUDE_DIR zookeeper/zookeeper.h ${holdfast_required})
  if(HOLDFAST_ZOOKEEPER_LIBRARY AND HOLDFAST_ZOOKEEPER_INCLUDE_DIR AND NOT TARGET holdfast::zookeeper)
    add_library(holdfast::zookeeper UNKNOWN IMPORTED)
    set_target_properties(holdfast::zookeeper PROPERTIES
      IMPORTED_LOCATION ${HOLDFAST_ZOOKEEPER_LIBRARY}
      INTERFACE_INCLUDE_DIRECTORIES ${HOLDFAST_ZOOKEEPER_INCLUDE_DIR})
  endif()
  list(APPEND holdfast_clients holdfast::zookeeper)
endif()
# libpq alone: CMake's own module also wants the headers of servers' extensions.
if("postgresql" IN_LIST holdfast_stores OR "mariadb" IN_LIST holdfast_stores)
  find_package(PkgConfig ${holdfast_required})
endif()
if("postgresql" IN_LIST holdfast_stores AND PKG_CONFIG_FOUND)
  pkg_check_modules(HOLDFAST_LIBPQ ${holdfast_required} IMPORTED_TARGET libpq>=14) # 14 brought pipelines
endif()
if("mariadb" IN_LIST holdfast_stores AND PKG_CONFIG_FOUND)
  pkg_check_modules(HOLDFAST_LIBMARIADB ${holdfast_required} IMPORTED_TARGET libmariadb>=3.1)
endif()
if("postgresql" IN_LIST holdfast_stores)
  list(APPEND holdfast_clients PkgConfig::HOLDFAST_LIBPQ)
endif()
if("mariadb" IN_LIST holdfast_stores)
  list(APPEND holdfast_clients PkgConfig::HOLDFAST_LIBMARIADB)
endif()
