#!/usr/bin/env bash
# An outside CMake project asks for the component async, names its own Boost as README.md says, and awaits a lock in a
# coroutine. A CMake package of another Boost is installed, as on Debian with libboost-dev.
set -euo pipefail
source "$(dirname "$0")/lib.sh"

install_tree
mkdir -p "$work/other/empty"
cat >"$work/other/BoostConfig.cmake" <<'EOF'
set(Boost_VERSION 1.74.0)
set(Boost_INCLUDE_DIRS ${CMAKE_CURRENT_LIST_DIR}/empty)
if(NOT TARGET Boost::headers)
  add_library(Boost::headers INTERFACE IMPORTED)
endif()
EOF
cat >"$work/other/BoostConfigVersion.cmake" <<'EOF'
set(PACKAGE_VERSION 1.74.0)
set(PACKAGE_VERSION_COMPATIBLE TRUE)
EOF
flag=$(grep -o -- '-DBoost_INCLUDE_DIR=DIR' "$here/../../README.md")

# with_boost INCLUDE_DIR
with_boost() {
  rm -rf "${work:?}/async"
  build_outside async "${flag/%DIR/$1}" -DBoost_DIR="$work/other" | tee "$work/said"
  local version
  version=$(sed -n 's/^#define BOOST_LIB_VERSION "\(.*\)"$/\1/p' "$1/boost/version.hpp")
  expect "it was compiled with Boost $version" grep -q "held, with Boost $version$" "$work/said"
}

with_boost "$BOOST_INCLUDE"
# And with the system's, which on Debian 12 is the oldest that <holdfast/async.hpp> takes.
if [[ -f /usr/include/boost/version.hpp ]]; then
  with_boost /usr/include
fi
