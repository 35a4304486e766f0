# shellcheck shell=bash
# Common to the package tests. Each gets the build folder as $1, and CMAKE, CC, CXX, BOOST_INCLUDE, VERSION and
# SOVERSION by environment.
build=$1
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/prefix

install_tree() { "$CMAKE" --install "$build" --prefix "$prefix" >/dev/null; }

# build_outside DIR [option...]: configures and builds one of the outside projects, and runs its program.
build_outside() {
  local project=$1
  shift
  "$CMAKE" -S "$here/$project" -B "$work/$project" -G Ninja -DCMAKE_C_COMPILER="$CC" -DCMAKE_CXX_COMPILER="$CXX" -DCMAKE_PREFIX_PATH="$prefix" "$@"
  "$CMAKE" --build "$work/$project"
  "$work/$project/outside"
}

# expect WHAT COMMAND...: one line that says what is wrong, rather than a silent `set -e`.
expect() {
  local what=$1
  shift
  "$@" || {
    echo "not so: $what" >&2
    exit 1
  }
}
