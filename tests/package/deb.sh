#!/usr/bin/env bash
# The three Debian packages: what is in them, what they depend on, and that nothing else slips in.
set -euo pipefail
source "$(dirname "$0")/lib.sh"

(cd "$build" && "${CMAKE%cmake}cpack" -G DEB -B "$work/debs" >"$work/cpack.log" 2>&1) || {
  cat "$work/cpack.log"
  exit 1
}
library_name=libholdfast$SOVERSION
library=$(echo "$work/debs/$library_name"_*.deb)
development=$(echo "$work"/debs/libholdfast-dev_*.deb)
command=$(echo "$work"/debs/holdfast_*.deb)

# grep reads to the end: with -q it stops at the first line, and pipefail tells that dpkg-deb could not write the rest.
contains() { dpkg-deb -c "$1" | awk '{print $6}' | grep -E "^\./usr/$2\$" >/dev/null; }
depends() { dpkg-deb -f "$1" Depends | grep -qE "$2"; }

for package in "$library" "$development" "$command"; do
  expect "$package has version $VERSION" test "$(dpkg-deb -f "$package" Version)" = "$VERSION"
  dpkg-deb -c "$package"
done
expect "$library_name has the library" contains "$library" 'lib/(.*/)?libholdfast\.so\.'"${SOVERSION/./\\.}"
if [[ $VERSION == 0.* ]]; then
  expect "the SONAME changes with a minor version before 1.0" test "$SOVERSION" = "$(cut -d. -f1-2 <<<"$VERSION")"
fi
expect "programs may run with a later version of the same SONAME" \
  test "$(dpkg-deb -I "$library" shlibs)" = "libholdfast $SOVERSION $library_name (>= $VERSION)"
expect "$library_name has its licence" contains "$library" "share/doc/${library_name/./\\.}/copyright"
expect "$library_name has nothing else" \
  test "$(dpkg-deb -c "$library" | grep -vc -e '/$' -e libholdfast.so -e /copyright)" = 0
expect "$library_name depends on SQLite" depends "$library" libsqlite3-0
expect "$library_name does not depend on Boost" bash -c "! dpkg-deb -f '$library' Depends | grep -q boost"
expect "libholdfast-dev has the headers" contains "$development" 'include/holdfast/holdfast\.hpp'
expect "libholdfast-dev has the header for C" contains "$development" 'include/holdfast/holdfast\.h'
expect "libholdfast-dev has the CMake package" contains "$development" 'lib/(.*/)?cmake/holdfast/holdfast-config\.cmake'
expect "libholdfast-dev has the pkg-config file" contains "$development" 'lib/(.*/)?pkgconfig/holdfast\.pc'
expect "libholdfast-dev has the examples" contains "$development" share/doc/holdfast/examples/inventory.cpp
expect "libholdfast-dev depends on its library" depends "$development" "${library_name/./\\.} \\(= "
expect "holdfast has the command" contains "$command" bin/holdfast
expect "holdfast has its completion" contains "$command" share/bash-completion/completions/holdfast
if [[ -f $here/../../cli/holdfast.1 ]]; then
  expect "holdfast has its man page" contains "$command" share/man/man1/holdfast.1
fi
expect "holdfast has its service" contains "$command" lib/systemd/system/holdfast-serve.service
dpkg-deb -e "$command" "$work/control"
for script in postinst prerm postrm; do
  expect "holdfast has the script $script" test -x "$work/control/$script"
  expect "$script is a script" sh -n "$work/control/$script"
done
expect "an upgrade restarts the service" grep -q 'try-restart holdfast-serve.service' "$work/control/postinst"
expect "the service ends with its package" grep -q 'disable --now holdfast-serve.service' "$work/control/prerm"
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
