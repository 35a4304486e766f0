#!/usr/bin/env bash
# The three Debian packages, by debian/rules, of what is built here: what is in them, what they depend on, and that nothing
# else slips in. scripts/check_packages builds them as their users do.
set -euo pipefail
source "$(dirname "$0")/lib.sh"

mkdir -p "$work/debs/tree"
cp -r "$here/../../debian" "$work/debs/tree"
(cd "$work/debs/tree" && DEB_RULES_REQUIRES_ROOT=no debian/rules binary HOLDFAST_BUILD="$build" >"$work/log" 2>&1) || {
  cat "$work/log"
  exit 1
}
library_name=libholdfast$SOVERSION
library=$(echo "$work/debs/$library_name"_*.deb)
development=$(echo "$work"/debs/libholdfast-dev_*.deb)
command=$(echo "$work"/debs/holdfast_*.deb)

# grep reads to the end: with -q it stops at the first line, and pipefail tells that dpkg-deb could not write the rest.
contains() { dpkg-deb -c "$1" | awk '{print $6}' | grep -E "^\./(usr/)?$2\$" >/dev/null; }
depends() { dpkg-deb -f "$1" Depends | grep -qE "$2"; }

for package in "$library" "$development" "$command"; do
  expect "$package has version $VERSION" test "$(dpkg-deb -f "$package" Version)" = "$VERSION"
  dpkg-deb -c "$package"
done
expect "$library_name has the library" contains "$library" 'lib/(.*/)?libholdfast\.so\.'"${SOVERSION/./\\.}"
if [[ $VERSION == 0.* ]]; then
  expect "the SONAME changes with a minor version before 1.0" test "$SOVERSION" = "$(cut -d. -f1-2 <<<"$VERSION")"
fi
# Programs that use the C functions run with any later version of the SONAME; what is exported for C++ may be newer.
dpkg-deb -e "$library" "$work/control"
expect "each symbol needs the version that brought it" \
  grep -qE "^ holdfast_version@HOLDFAST_C_0.1 0.1.0\$" "$work/control/symbols"
expect "the symbols of C++ need this version" \
  test "$(sed -n 's/.*@HOLDFAST_CXX //p' "$work/control/symbols" | sort -u)" = "$VERSION"
expect "$library_name has its licence" contains "$library" "share/doc/${library_name/./\\.}/copyright"
expect "$library_name has nothing else" \
  test "$(dpkg-deb -c "$library" | grep -vc -e '/$' -e libholdfast.so -e "/doc/$library_name/")" = 0
expect "$library_name depends on SQLite" depends "$library" libsqlite3-0
expect "$library_name does not depend on Boost" bash -c "! dpkg-deb -f '$library' Depends | grep -q boost"
expect "libholdfast-dev has the headers" contains "$development" 'include/holdfast/holdfast\.hpp'
expect "libholdfast-dev has the header for C" contains "$development" 'include/holdfast/holdfast\.h'
expect "libholdfast-dev has the CMake package" contains "$development" 'lib/(.*/)?cmake/holdfast/holdfast-config\.cmake'
expect "libholdfast-dev has the static library" contains "$development" 'lib/(.*/)?libholdfast\.a'
expect "libholdfast-dev has the pkg-config file" contains "$development" 'lib/(.*/)?pkgconfig/holdfast\.pc'
expect "libholdfast-dev has the examples" contains "$development" share/doc/holdfast/examples/inventory.cpp
expect "libholdfast-dev depends on its library" depends "$development" "${library_name/./\\.} \\(= "
expect "holdfast has the command" contains "$command" bin/holdfast
expect "holdfast has its completion" contains "$command" share/bash-completion/completions/holdfast
if [[ -f $here/../../cli/holdfast.1 ]]; then
  expect "holdfast has its man page" contains "$command" share/man/man1/holdfast.1.gz
fi
expect "holdfast has its service" contains "$command" lib/systemd/system/holdfast-serve.service
dpkg-deb -e "$command" "$work/scripts"
expect "an upgrade restarts the service" grep -q '_dh_action=restart' "$work/scripts/postinst"
expect "an installation does not enable the service" \
  grep -q "if deb-systemd-helper debian-installed 'holdfast-serve.service'" "$work/scripts/postinst"
expect "the service ends with its package" grep -q "deb-systemd-invoke stop 'holdfast-serve.service'" "$work/scripts/prerm"
for page in README.md SECURITY.md docs/guarantees.md docs/stores/README.md packaging/prometheus/holdfast.rules.yml \
  packaging/grafana/holdfast.json packaging/systemd/store-password.conf packaging/oci/Containerfile; do
  expect "holdfast has $page" contains "$command" "share/doc/holdfast/$page"
done
expect "holdfast depends on its library" depends "$command" "${library_name/./\\.} \\(= "

# Unpacked as dpkg would, the command runs with the packaged library.
dpkg-deb -x "$library" "$work/root"
dpkg-deb -x "$command" "$work/root"
LD_LIBRARY_PATH=$(dirname "$(find "$work/root" -name "libholdfast.so.$SOVERSION")") "$work/root/usr/bin/holdfast" --version |
  tee "$work/version"
expect "the packaged command says its version" grep -q "$VERSION" "$work/version"
