#!/usr/bin/env bash
# Every relative link of the installed pages leads somewhere, and the pages for developers are not there.
set -euo pipefail
source "$(dirname "$0")/lib.sh"

install_tree
documentation=$prefix/share/doc/holdfast
expect "the store pages are installed" test -f "$documentation/docs/stores/redis.md"
expect "the guide is installed" test -f "$documentation/docs/guide.md"
expect "decisions of the developers are not" test ! -e "$documentation/docs/adr"
"$here/../tree/check" --root "$documentation" links
