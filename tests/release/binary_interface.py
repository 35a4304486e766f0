#!/usr/bin/env python3
"""scripts/abi takes the header and the library as they stand, and additions, and refuses what breaks a program that is
linked with the last release: each case is one change in a copy.

    tests/release/binary_interface.py LIBRARY
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
HEADER, VERSIONS = "include/holdfast/holdfast.h", "src/holdfast.map"


def abi(*arguments, root=ROOT):
    return subprocess.run([ROOT / "scripts/abi", "--root", root, *arguments], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)


class binary_interface(unittest.TestCase):
    def changed(self, *changes, options=()):
        """The answer for a tree with these changes, each (file, former text, new text). The release is that of this header."""
        with tempfile.TemporaryDirectory() as folder:
            copy = pathlib.Path(folder)
            shutil.copytree(ROOT / "include", copy / "include")
            (copy / "src").mkdir()
            shutil.copy(ROOT / VERSIONS, copy / VERSIONS)
            self.assertEqual(abi("write", root=copy).returncode, 0)
            for file, former, new in changes:
                text = (copy / file).read_text()
                self.assertIn(former, text)
                (copy / file).write_text(text.replace(former, new, 1))
            return abi("check", *options, root=copy)

    def refused(self, reason, *changes):
        answer = self.changed(*changes)
        self.assertIn(reason, answer.stdout)
        self.assertEqual(answer.returncode, 1, answer.stdout)

    def taken(self, *changes):
        """As an addition, which the file of a release does not have yet."""
        answer = self.changed(*changes)
        self.assertEqual(answer.returncode, 0, answer.stdout)
        answer = self.changed(*changes, options=["--equal"])
        self.assertEqual(answer.returncode, 1, answer.stdout)

    def test_the_tree_as_it_stands(self):
        answer = abi("check", LIBRARY)
        self.assertEqual(answer.returncode, 0, answer.stdout)

    def test_a_library_without_the_functions(self):
        answer = abi("check", shutil.which("true"))
        self.assertIn("no longer exports holdfast_acquire by the version HOLDFAST_C_0.1", answer.stdout)
        self.assertEqual(answer.returncode, 1)

    def test_a_member_of_another_type(self):
        self.refused("type of 'int64_t pid' changed", (HEADER, "int64_t pid;", "int32_t pid;"))

    def test_a_member_in_the_middle(self):
        self.refused("'const char* label' offset changed", (HEADER, "  int64_t retry_limit_ms;",
                                                            "  int64_t early_ms;\n  int64_t retry_limit_ms;"))

    def test_a_member_that_is_gone(self):
        self.refused("1 data member deletion", (HEADER, "  bool is_released;", ""))

    def test_a_member_at_the_end_of_a_struct_that_grows(self):
        self.taken((HEADER, "  size_t note_count;", "  size_t note_count;\n  int64_t later_ms;"))

    def test_a_member_in_the_padding_at_the_end(self):
        self.refused("holdfast_lock_options::is_later lies in the padding",
                     (HEADER, "  bool is_fixed;", "  bool is_fixed;\n  bool is_later;"))

    def test_a_member_at_the_end_of_a_struct_that_does_not_grow(self):
        self.refused("type size changed from 256 to 320",
                     (HEADER, "  int64_t capacity;  ///< for", "  int64_t capacity, later;  ///< for"))

    def test_a_parameter_of_another_type(self):
        self.refused("parameter 2 of type 'typedef int64_t' changed",
                     (HEADER, "int64_t wait_ms, size_t most", "int32_t wait_ms, size_t most"))

    def test_a_result_of_another_type(self):
        self.refused("return type changed", (HEADER, "bool holdfast_lease_is_held", "int holdfast_lease_is_held"))

    def test_an_enumerator_of_another_value(self):
        self.refused("from value '2' to '22'", (HEADER, "HOLDFAST_ERR_LOST = 2,", "HOLDFAST_ERR_LOST = 22,"))

    def test_a_new_enumerator(self):
        self.taken((HEADER, "  HOLDFAST_ERR_CLOSED = 15 ", "  HOLDFAST_ERR_LATER = 99, HOLDFAST_ERR_CLOSED = 15 "))

    def test_a_function_that_is_gone(self):
        self.refused("[D] 'function void holdfast_watch_clear(holdfast_watch*)'",
                     (HEADER, "HOLDFAST_API void holdfast_watch_clear(holdfast_watch* watch);", ""),
                     (VERSIONS, "    holdfast_watch_clear;\n", ""))

    def test_a_function_of_another_version(self):
        self.refused("holdfast_acquire@@HOLDFAST_C_0.1",
                     (VERSIONS, "HOLDFAST_C_0.1 {", "HOLDFAST_C_0.2 {"))

    def test_a_new_function(self):
        self.taken((HEADER, "HOLDFAST_API void holdfast_watch_clear(",
                    "HOLDFAST_API void holdfast_later(void);\nHOLDFAST_API void holdfast_watch_clear("),
                   (VERSIONS, "    holdfast_watch_clear;", "    holdfast_watch_clear;\n    holdfast_later;"))


LIBRARY = sys.argv.pop()
unittest.main()
