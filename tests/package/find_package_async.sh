#!/usr/bin/env bash
# An outside CMake project asks for the component async, brings its own Boost, and awaits a lock in a coroutine.
set -euo pipefail
source "$(dirname "$0")/lib.sh"

install_tree
build_outside async -DBoost_INCLUDE_DIR="$BOOST_INCLUDE" -DBoost_NO_BOOST_CMAKE=ON
