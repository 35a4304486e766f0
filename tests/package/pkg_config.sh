#!/usr/bin/env bash
# No CMake at all: pkg-config and a compiler.
set -euo pipefail
source "$(dirname "$0")/lib.sh"

install_tree
pc_dir=$(dirname "$(find "$prefix" -name holdfast.pc)")
export PKG_CONFIG_PATH=$pc_dir
expect "pkg-config knows version $VERSION" test "$(pkg-config --modversion holdfast)" = "$VERSION"
# shellcheck disable=SC2046  # the flags are meant to be split
"$CXX" -std=c++20 -Wall -Wextra -Werror "$here/plain/main.cpp" -o "$work/outside" $(pkg-config --cflags --libs holdfast)
LD_LIBRARY_PATH=$(pkg-config --variable=libdir holdfast) "$work/outside"
