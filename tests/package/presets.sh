#!/usr/bin/env bash
# The preset that the README builds with is for any compiler: one that has a new warning must not stop it.
set -euo pipefail
source "$(dirname "$0")/lib.sh"

"$CMAKE" -S "$here/../.." -B "$work/build" --preset install >"$work/log" || {
  cat "$work/log"
  exit 1
}
expect "the preset 'install' does not turn warnings into errors" \
  bash -c "! grep -q -e -Werror '$work/build/compile_commands.json'"
expect "the README builds with the preset 'install'" grep -q '^cmake --preset install' "$here/../../README.md"
