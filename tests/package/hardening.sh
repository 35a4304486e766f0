#!/usr/bin/env bash
# The installed files are hardened as cmake/HoldfastCompile.cmake asks. A compiler does not report an option that another
# option overrules.
set -euo pipefail
source "$(dirname "$0")/lib.sh"

install_tree
library=$(find "$prefix" -name "libholdfast.so.$SOVERSION")
command=$prefix/bin/holdfast
archive=$(find "$prefix" -name libholdfast.a)

# has FILE READELF-OPTION PATTERN. grep reads to the end: with -q, pipefail tells that readelf could not write the rest.
has() { readelf --wide "$2" "$1" | grep -E "$3" >/dev/null; }

files=("$library")
[[ ! -e $command ]] || files+=("$command")
for file in "${files[@]}"; do
  expect "$file has RELRO" has "$file" --segments GNU_RELRO
  expect "$file binds its symbols at the start" has "$file" --dynamic 'FLAGS_1.*NOW'
  expect "the stack of $file is not executable" has "$file" --segments 'GNU_STACK.* RW '
  expect "$file protects its stack" has "$file" --dyn-syms __stack_chk_fail
  expect "$file has the assertions of the standard library" has "$file" --dyn-syms glibcxx_assert_fail
  expect "$file has fortified calls" has "$file" --dyn-syms ' __[a-z]+_chk(@|$)'
done
[[ ! -e $command ]] || expect "$command is independent of its position" has "$command" --dynamic 'FLAGS_1.*PIE'
if [[ $(uname -m) == x86_64 && -n $archive ]]; then
  # The object before it is linked: with the start files of Debian no program has the mark.
  expect "the library's object is marked for CET" has "$archive" --notes 'x86 feature: IBT, SHSTK'
  # A frame larger than a page is touched page by page.
  expect "the stack is probed" bash -c "objdump -d --no-show-raw-insn '$library' | grep 'or[ql]  *\$0x0,(%rsp)' >/dev/null"
fi
