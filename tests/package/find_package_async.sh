#!/usr/bin/env bash
# An outside CMake project asks for the component async, brings its own Boost, and awaits a lock in a coroutine.
set -euo pipefail
source "$(dirname "$0")/lib.sh"

install_tree
build_outside async -DBoost_INCLUDE_DIR="$BOOST_INCLUDE" -DBoost_NO_BOOST_CMAKE=ON
# And with the system's, which on Debian 12 is the oldest that <holdfast/async.hpp> takes.
if [[ -f /usr/include/boost/version.hpp ]]; then
  rm -rf "${work:?}/async"
  build_outside async -DBoost_INCLUDE_DIR=/usr/include -DBoost_NO_BOOST_CMAKE=ON
fi
