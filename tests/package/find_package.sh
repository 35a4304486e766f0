#!/usr/bin/env bash
# An outside CMake project finds the installed package, builds without Boost in sight, and runs.
set -euo pipefail
source "$(dirname "$0")/lib.sh"

install_tree
build_outside plain -DCMAKE_DISABLE_FIND_PACKAGE_Boost=ON # the component async is optional there
HOLDFAST_STORE=memory: build_outside c # a project without C++

expect "a store that does not exist is not found as a component" \
  bash -c "! '$CMAKE' -S '$here/plain' -B '$work/wrong' -G Ninja -DCMAKE_PREFIX_PATH='$prefix' -DWANTED=nosuchstore 2>/dev/null"
