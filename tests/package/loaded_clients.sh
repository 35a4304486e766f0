#!/usr/bin/env bash
# A static library that loads the clients of databases is found and linked where those are not installed. Nothing is compiled:
# an empty archive stands for the library, and the files beside it are the real ones.
set -euo pipefail
source "$(dirname "$0")/lib.sh"

tree=$work/tree
"$CMAKE" -S "$here/../.." -B "$tree" --preset install -DCMAKE_CXX_COMPILER="$CXX" -DBUILD_SHARED_LIBS=OFF -DHOLDFAST_CLI=OFF \
  -DHOLDFAST_LOADED_CLIENTS=ON -DHOLDFAST_POSTGRESQL=ON -DHOLDFAST_MARIADB=ON >"$work/log" || {
  cat "$work/log"
  exit 1
}
ar rc "$tree/$(sed -n 's/^build \(.*\): CXX_STATIC_LIBRARY.*/\1/p' "$tree/build.ninja")"
"$CMAKE" --install "$tree" --component development --prefix "$prefix" >/dev/null

mkdir "$work/outside"
cat >"$work/outside/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.25)
project(outside LANGUAGES CXX)
find_package(holdfast REQUIRED COMPONENTS static postgresql mariadb)
get_target_property(linked holdfast::static INTERFACE_LINK_LIBRARIES)
message(STATUS "linked: ${linked}")
END
PKG_CONFIG_LIBDIR=$work/none "$CMAKE" -S "$work/outside" -B "$work/outside/build" -G Ninja -DCMAKE_CXX_COMPILER="$CXX" \
  -DCMAKE_PREFIX_PATH="$prefix" | tee "$work/said"
PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name holdfast.pc)") pkg-config --libs --static holdfast | tee -a "$work/said"
expect "no client of a database is linked" bash -c "! grep -iE 'libpq|-lpq|mariadb' '$work/said'"
expect "the loader's library is, by CMake" grep -qE 'linked: .*<LINK_ONLY:dl>' "$work/said"
expect "and by pkg-config" grep -q -e '^-.* -ldl ' "$work/said"
