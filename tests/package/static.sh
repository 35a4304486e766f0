#!/usr/bin/env bash
# The static library: it shows the names that the shared one exports and no other, so that programs with another Boost link
# it, by CMake and by pkg-config, from C++ and from C; and they do not need the shared one.
set -euo pipefail
source "$(dirname "$0")/lib.sh"

install_tree
archive=$(find "$prefix" -name libholdfast.a)
shared=$(find "$prefix" -name "libholdfast.so.$SOVERSION")
nm --extern-only --defined-only --format=posix "$archive" | awk 'NF > 1 { print $1 }' | sort >"$work/static"
nm --dynamic --defined-only --format=posix "$shared" | awk '$2 != "A" { sub(/@.*/, "", $1); print $1 }' | sort >"$work/shared"
diff "$work/shared" "$work/static" >"$work/differences" || {
  head -n 40 "$work/differences" | c++filt
  expect "libholdfast.a (>) has the names of libholdfast.so (<)" false
}
expect "it has names at all" test "$(wc -l <"$work/static")" -gt 100

# The library is of another Boost than the program, if the system has another.
boost=/usr/include
[[ -f $boost/boost/version.hpp ]] || boost=$BOOST_INCLUDE
version=$(sed -n 's/^#define BOOST_LIB_VERSION "\(.*\)"$/\1/p' "$boost/boost/version.hpp")

# runs PROGRAM: alone, and without libholdfast.so.
runs() {
  expect "$1 does not need libholdfast.so" bash -c "! readelf --dynamic '$1' | grep -q 'NEEDED.*libholdfast'"
  "$@"
}

"$CMAKE" -S "$here/static" -B "$work/static_build" -G Ninja -DCMAKE_C_COMPILER="$CC" -DCMAKE_CXX_COMPILER="$CXX" \
  -DCMAKE_PREFIX_PATH="$prefix" -DOTHER_BOOST="$boost"
"$CMAKE" --build "$work/static_build"
export HOLDFAST_STORE=sqlite:$work/locks.db
runs "$work/static_build/outside" "$HOLDFAST_STORE" | tee "$work/said"
expect "both work, with Boost $version" grep -qx "both work, with Boost $version" "$work/said"
runs "$work/static_build/outside_async" | tee "$work/said"
expect "it was held, with Boost $version" grep -qx "held, with Boost $version" "$work/said"
runs "$work/static_build/outside_c"

# README.md has the line for pkg-config; it is run as it stands there, for C++ and for C.
PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name holdfast.pc)")
export PKG_CONFIG_PATH
line=$(grep -m 1 -o 'pkg-config --cflags --libs --static holdfast.*)$' "$here/../../README.md")
flags=$(eval "${line%)}")
# shellcheck disable=SC2086  # the flags are meant to be split
"$CXX" -std=c++20 -idirafter "$boost" "$here/static/main.cpp" -o "$work/outside" $flags
runs "$work/outside" "$HOLDFAST_STORE"
# shellcheck disable=SC2086
"$CC" -std=c11 "$here/../../examples/c_mutex.c" -o "$work/outside_c" $flags
runs "$work/outside_c"
