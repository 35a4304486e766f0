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

# From C: the header by itself, and an example.
header=$prefix/include/holdfast/holdfast.h
# shellcheck disable=SC2046
"$CC" -std=c11 -pedantic -Wall -Wextra -Werror -fsyntax-only -x c $(pkg-config --cflags holdfast) "$header"
# shellcheck disable=SC2046
"$CXX" -std=c++11 -Wall -Wextra -Werror -fsyntax-only -x c++ $(pkg-config --cflags holdfast) "$header"
# shellcheck disable=SC2046
"$CC" -std=c11 -pedantic -Wall -Wextra -Werror "$here/../../examples/c_mutex.c" -o "$work/outside_c" \
  $(pkg-config --cflags --libs holdfast)
HOLDFAST_STORE=memory: LD_LIBRARY_PATH=$(pkg-config --variable=libdir holdfast) "$work/outside_c"

# An older standard is told in a sentence, whichever header is included first.
for header in "$prefix"/include/holdfast/*.hpp; do
  name=${header##*/}
  [[ $name == async.hpp || $name == version.hpp ]] && continue # the one needs Boost, the other nothing
  # shellcheck disable=SC2046
  if "$CXX" -std=c++17 -fsyntax-only -x c++ $(pkg-config --cflags holdfast) "$header" 2>"$work/errors"; then
    expect "<holdfast/$name> fails as C++17" false
  fi
  first=$(grep -m 1 error: "$work/errors")
  expect "<holdfast/$name> asks for C++20 first, and not: $first" grep -q 'Holdfast needs C++20' <<<"$first"
done
