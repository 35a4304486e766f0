#!/usr/bin/env python3
"""What scripts have in common, scripts/lib.sh: a step that takes long, and the sources that count as changed."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

LIBRARY = pathlib.Path(__file__).resolve().parents[2] / "scripts/lib.sh"
LIMIT_S = 60  # of what takes far less


class Script(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.tree = pathlib.Path(folder.name)
        (self.tree / "scripts").mkdir()
        shutil.copy(LIBRARY, self.tree / "scripts")

    def run_script(self, text, **environment):
        script = self.tree / "scripts/script"
        script.write_text(f'#!/usr/bin/env bash\nset -euo pipefail\nsource "$(dirname "$0")/lib.sh"\n{text}')
        script.chmod(0o755)
        with open(self.tree / "said", "w+") as said:
            status = subprocess.run([script], stdout=said, stderr=subprocess.STDOUT, env={**os.environ, **environment},
                                    timeout=2 * LIMIT_S).returncode
        return status, (self.tree / "said").read_text()


class Steps(Script):
    # The command ends when its progress has been shown three times.
    LONG = """progress_seconds=0.1
long() {
  %s
  for ((n = 0; n < """ + str(LIMIT_S) + """0; ++n)); do
    (($(grep -c ' min' "$root/said") < 3)) || return %d
    sleep 0.1
  done
  echo "no progress was shown"
  return 99
}
step "A long step" long %s
echo "it goes on"
"""

    def test_a_long_step_that_counts_nothing_does_not_end_the_script(self):
        status, said = self.run_script(self.LONG % ("echo text", 0, ""))
        self.assertRegex(said, r"(?s)==> A long step\n(    0 min\n){3,}    done in \d+ s\nit goes on\n$")
        self.assertEqual(status, 0)

    def test_a_long_step_shows_the_last_count(self):
        status, said = self.run_script(self.LONG % ("echo '[1/7] one'; echo '[2/7] two'", 0, ""))
        self.assertIn("    0 min: 2/7\n", said.replace("[", "").replace("]", ""))
        self.assertEqual(status, 0)

    def test_a_long_step_that_fails_leaves_the_status_to_the_script(self):
        status, said = self.run_script(self.LONG % (":", 5, '|| echo "with $?"'))
        self.assertIn("'A long step' failed (status 5)", said)
        self.assertIn("with 5\nit goes on\n", said)
        self.assertEqual(status, 0)


class ChangedSources(Script):
    FORMER = "// SPDX\nint one() { return 1; }  // of no interest\n"

    def git(self, *arguments):
        subprocess.run(["git", "-c", "user.name=Nobody", "-c", "user.email=nobody@invalid", *arguments], cwd=self.tree, check=True,
                       capture_output=True)

    def changed(self, base="HEAD", **files):
        """Of a commit with src/file.cpp, which these take the place of; None for a file that is gone."""
        self.git("init", "-q")
        for name, texts in files.items():
            if texts[0] is not None:
                self.write(name, texts[0])
        self.write("other", "")
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "The base")
        for name, texts in files.items():
            self.write(name, texts[1])
        status, said = self.run_script("find_changes\nchanged_sources 2>/dev/null\n", HOLDFAST_BASE=base)
        self.assertEqual(status, 0, said)
        return said.splitlines()

    def write(self, name, text):
        path = self.tree / "src" / f"{name}.cpp"
        path.parent.mkdir(exist_ok=True)
        if text is None:
            path.unlink()
        else:
            path.write_text(text)

    def test_a_file_whose_comments_alone_have_changed_is_passed_over(self):
        self.assertEqual(self.changed(file=(self.FORMER, "// SPDX\n/* Why. */\nint one() { return 1; }\n")), [])

    def test_a_file_whose_code_has_changed(self):
        self.assertEqual(self.changed(file=(self.FORMER, self.FORMER.replace("return 1", "return 2"))), ["src/file.cpp"])

    def test_a_text_that_looks_like_a_comment_is_code(self):
        self.assertEqual(self.changed(file=('auto text = "// one";\n', 'auto text = "// two";\n')), ["src/file.cpp"])

    def test_a_macro_that_has_changed(self):
        self.assertEqual(self.changed(file=("#define ONE 1\n", "#define ONE 2\n")), ["src/file.cpp"])

    def test_a_file_that_is_new(self):
        self.assertEqual(self.changed(file=(None, "// SPDX\n")), ["src/file.cpp"])

    def test_a_file_that_is_gone_cannot_be_checked(self):
        self.assertEqual(self.changed(file=(self.FORMER, None)), [])

    def test_a_file_that_cannot_be_compared_counts_as_changed(self):
        self.assertEqual(self.changed(file=("/* without an end\n", "/* without an end, again\n")), ["src/file.cpp"])
        self.assertEqual(self.changed(later=("int one;\n", "/* without an end\nint one;\n")), ["src/later.cpp"])

    def test_without_a_base_each_file_counts(self):
        self.assertEqual(self.changed(base="", file=(self.FORMER, self.FORMER)), ["src/file.cpp", "src/other.cpp"])


unittest.main()
