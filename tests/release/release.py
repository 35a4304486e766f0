#!/usr/bin/env python3
"""scripts/release in a clone: what it makes, with a key and without one, and what it refuses.

    tests/release/release.py BUILD LIBRARY   a build folder with all that is installed, in place of one that each release makes
                                             anew, and its libholdfast.so
"""
import datetime
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
VERSION = (ROOT / "VERSION").read_text().strip()
DATE = "2026-12-24"
NEW_FUNCTION = (("include/holdfast/holdfast.h", "HOLDFAST_API void holdfast_watch_clear(",
                 "HOLDFAST_API void holdfast_later(void);\nHOLDFAST_API void holdfast_watch_clear("),
                ("src/holdfast.map", "    holdfast_watch_clear;", "    holdfast_watch_clear;\n    holdfast_later;"))


def run(*command, check=True, **more):
    done = subprocess.run([str(each) for each in command], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **more)
    if check and done.returncode:
        raise AssertionError(f"{command}: {done.stdout}")
    return done


class release(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="release-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.environment = {**os.environ, "HOME": folder.name, "GNUPGHOME": f"{folder.name}/none",
                           "GIT_AUTHOR_DATE": f"{DATE}T12:00:00Z", "GIT_COMMITTER_DATE": f"{DATE}T12:00:00Z"}
        for each in ("none", "keys"):
            (cls.folder / each).mkdir(mode=0o700)
        cls.clone = cls.folder / "clone"
        cls.clone.mkdir()
        # As the tree is, with what is not committed.
        listed = run("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", cwd=ROOT).stdout.split("\0")
        there = "\0".join(each for each in listed if each and (ROOT / each).exists())
        pack = subprocess.run(["tar", "-cf", "-", "--null", "-T", "-"], cwd=ROOT, input=there.encode(), stdout=subprocess.PIPE,
                              check=True).stdout
        subprocess.run(["tar", "-xf", "-"], cwd=cls.clone, input=pack, check=True)
        (cls.clone / ".deps").symlink_to(ROOT / ".deps")
        cls.release_day("CHANGELOG.md", rf"^(## {re.escape(VERSION)} - ).*$", "%Y-%m-%d")
        cls.release_day("debian/changelog", r"^( -- .*>  )\w+, \d+ \w+ \d+", "%a, %d %b %Y")
        cls.release_day("packaging/rpm/holdfast.spec", r"^(\* )\w+ \w+ \d+ \d+", "%a %b %d %Y")
        for file in ("debian/control", "debian/changelog", "packaging/rpm/holdfast.spec"):
            path = cls.clone / file
            path.write_text(path.read_text().replace("@holdfast.invalid>", "@localhost>"))
        run("git", "init", "-q", cwd=cls.clone)
        cls.commit("The release")

    @classmethod
    def release_day(cls, file, before, written):
        path = cls.clone / file
        text, count = re.subn(before, rf"\g<1>{datetime.date.fromisoformat(DATE):{written}}", path.read_text(), flags=re.M)
        assert count == 1, file
        path.write_text(text)

    @classmethod
    def git(cls, *arguments):
        return run("git", "-c", "user.name=Nobody", "-c", "user.email=nobody@invalid", *arguments, cwd=cls.clone,
                   env=cls.environment)

    @classmethod
    def commit(cls, message):
        cls.git("add", "-A")
        cls.git("commit", "-q", "-m", message)

    def release(self, *arguments, check=True, **more):
        return run(self.clone / "scripts/release", *arguments, check=check, cwd=self.folder, env={**self.environment, **more})

    def made(self):
        return self.clone / f"build/release-{VERSION}"

    def test_a_release_without_a_key(self):
        said = self.release("sources").stdout
        self.assertIn("There is no secret key: the checksums are not signed", said)
        names = [f"holdfast-{VERSION}.spdx.json", f"holdfast-{VERSION}.tar.gz"]
        self.assertEqual(sorted(each.name for each in self.made().iterdir()), ["SHA256SUMS", *names])
        run("sha256sum", "--check", "--strict", "SHA256SUMS", cwd=self.made())
        sums = (self.made() / "SHA256SUMS").read_text()
        self.assertEqual(sorted(line.split()[1] for line in sums.splitlines()), names)
        with tarfile.open(self.made() / names[1]) as sources:
            found = {each.name for each in sources.getmembers() if each.isfile()}
            self.assertEqual({each.mtime for each in sources.getmembers()}, {1798113600})
        listed = self.git("ls-files").stdout.splitlines()
        self.assertEqual(found, {f"holdfast-{VERSION}/{each}" for each in listed})

        self.release("sources")
        self.assertEqual((self.made() / "SHA256SUMS").read_text(), sums, "the same commit gives the same bytes")

    def test_a_release_with_a_key(self):
        keys = {"GNUPGHOME": str(self.folder / "keys")}
        self.addCleanup(lambda: run("gpgconf", "--kill", "gpg-agent", env={**self.environment, **keys}))
        run("gpg", "--batch", "--passphrase", "", "--quick-gen-key", "A test <test@invalid>", "ed25519", "sign", "never",
            env={**self.environment, **keys})
        self.release("sources", **keys)
        verify = ("gpg", "--batch", "--verify", self.made() / "SHA256SUMS.asc", self.made() / "SHA256SUMS")
        self.assertIn('Good signature from "A test <test@invalid>"', run(*verify, env={**self.environment, **keys}).stdout)
        with open(self.made() / "SHA256SUMS", "a") as sums:
            sums.write("\n")
        self.assertIn("BAD signature", run(*verify, check=False, env={**self.environment, **keys}).stdout)

    def test_a_key_that_is_named_and_is_not_there(self):
        shutil.rmtree(self.made(), ignore_errors=True)
        done = self.release("sources", check=False, HOLDFAST_SIGNING_KEY="nobody@invalid")
        self.assertNotEqual(done.returncode, 0, done.stdout)
        self.assertIn("gpg has no secret key 'nobody@invalid'", done.stdout)
        self.assertFalse(self.made().exists())

    def test_a_dry_run_makes_nothing(self):
        shutil.rmtree(self.made(), ignore_errors=True)
        said = self.release("--dry-run").stdout
        for step in ("Check the licences", "Pack the sources", "Make site", "Write the checksums"):
            self.assertIn(f"    {step}", said)
        self.assertFalse(self.made().exists())

    def test_the_packages_of_debian(self):
        before = self.git("rev-parse", "HEAD").stdout.strip()
        self.addCleanup(self.git, "reset", "-q", "--hard", before)
        file, former, new = PACKS_THE_BUILD
        (self.clone / file).write_text((self.clone / file).read_text().replace(former, new))
        self.commit("What is built")
        self.release("deb")
        self.assertEqual({"holdfast", "libholdfast-dev", "libholdfast0.1"} - {each.name.partition("_")[0] for each in
                                                                              self.made().glob(f"*_{VERSION}_*.deb")}, set())

    # What is refused ----------------------------------------------------------------------------------------

    def refused(self, reason, *changes, commit=True, part="sources"):
        """With these changes, each (file, former text, new text); they are taken back."""
        before = self.git("rev-parse", "HEAD").stdout.strip()
        self.addCleanup(self.git, "reset", "-q", "--hard", before)
        shutil.rmtree(self.made(), ignore_errors=True)
        for file, former, new in changes:
            text = (self.clone / file).read_text()
            self.assertIn(former, text)
            (self.clone / file).write_text(text.replace(former, new))
        if commit:
            self.commit("A mistake")
        done = self.release(part, check=False)
        self.assertNotEqual(done.returncode, 0, done.stdout)
        self.assertIn(reason, done.stdout)
        self.assertFalse((self.made() / "SHA256SUMS").exists())

    def test_changes_that_are_not_committed(self):
        self.refused("the tree has changes that are not committed", ("README.md", "# Holdfast\n", "# Holdfast!\n"), commit=False)

    def test_a_section_without_a_date(self):
        self.refused(f"CHANGELOG.md calls {VERSION} unreleased", ("CHANGELOG.md", f"- {DATE}", "- unreleased"))

    def test_a_section_of_another_day(self):
        self.refused(f"CHANGELOG.md has the date 2026-12-23, and the commit {DATE}",
                     ("CHANGELOG.md", f"- {DATE}", "- 2026-12-23"), ("debian/changelog", "Thu, 24 Dec", "Wed, 23 Dec"),
                     ("packaging/rpm/holdfast.spec", "Thu Dec 24", "Wed Dec 23"))

    def test_a_package_of_debian_of_another_day(self):
        self.refused("debian/changelog: the newest entry is of Wed, 23 Dec 2026, and CHANGELOG.md has Thu, 24 Dec 2026",
                     ("debian/changelog", "Thu, 24 Dec", "Wed, 23 Dec"))

    def test_an_rpm_of_another_day(self):
        self.refused("holdfast.spec: the newest entry is of Wed Dec 23 2026, and CHANGELOG.md has Thu Dec 24 2026",
                     ("packaging/rpm/holdfast.spec", "Thu Dec 24", "Wed Dec 23"))

    def test_an_rpm_whose_newest_entry_is_of_another_version(self):
        self.refused(f"holdfast.spec: has the version 0.0.9, and VERSION is {VERSION}",
                     ("packaging/rpm/holdfast.spec", f"> - {VERSION}-1", "> - 0.0.9-1"))

    def test_a_maintainer_whom_no_mail_reaches(self):
        self.refused("the maintainer's address is a placeholder", ("debian/control", "@localhost>", "@holdfast.invalid>"))

    def test_a_section_of_another_version(self):
        self.refused(f"the newest section is not '{VERSION} - '", ("CHANGELOG.md", f"## {VERSION} ", "## 0.0.9 "))

    def test_a_tag_of_another_commit(self):
        self.git("tag", f"v{VERSION}")
        self.addCleanup(self.git, "tag", "-d", f"v{VERSION}")
        self.refused(f"the tag v{VERSION} is of another commit", ("README.md", "# Holdfast\n", "# Holdfast!\n"))

    def test_a_function_that_the_file_of_the_interface_does_not_have(self):
        self.refused("scripts/abi write, and commit it", *NEW_FUNCTION)

    def test_a_library_without_a_function_of_the_interface(self):
        before = self.git("rev-parse", "HEAD").stdout.strip()
        self.addCleanup(self.git, "reset", "-q", "--hard", before)
        for file, former, new in (*NEW_FUNCTION, PACKS_THE_BUILD):
            path = self.clone / file
            path.write_text(path.read_text().replace(former, new, 1))
        run(self.clone / "scripts/abi", "write")
        self.refused("no longer exports holdfast_later by the version HOLDFAST_C_0.1", part="deb")

    def test_a_function_of_the_last_release_that_is_gone(self):
        self.git("tag", "v0.0.9")
        self.addCleanup(self.git, "tag", "-d", "v0.0.9")
        before = self.git("rev-parse", "HEAD").stdout.strip()
        self.addCleanup(self.git, "reset", "-q", "--hard", before)
        for file, gone in (("include/holdfast/holdfast.h", "HOLDFAST_API void holdfast_watch_clear(holdfast_watch* watch);"),
                           ("src/holdfast.map", "    holdfast_watch_clear;\n")):
            path = self.clone / file
            self.assertIn(gone, path.read_text())
            path.write_text(path.read_text().replace(gone, ""))
        run(self.clone / "scripts/abi", "write")
        self.refused("[D] 'function void holdfast_watch_clear(holdfast_watch*)'")

    # The bill of materials ----------------------------------------------------------------------------------

    def test_the_bill_of_materials(self):
        folder = self.folder / "files"
        tree = self.folder / "package"
        (tree / "DEBIAN").mkdir(parents=True)
        (tree / "usr/lib").mkdir(parents=True)
        folder.mkdir()
        (folder / f"holdfast-{VERSION}.tar.gz").write_bytes(b"sources")
        shutil.copy(LIBRARY, tree / "usr/lib/libholdfast.so")
        (tree / "DEBIAN/control").write_text(f"Package: a\nVersion: {VERSION}\nArchitecture: all\nMaintainer: A\nDescription: a\n")
        run("dpkg-deb", "--build", "-Znone", tree, folder / "a.deb")
        library = max(pathlib.Path("/usr/lib").glob("*/libsqlite3.so.0.*"))
        with zipfile.ZipFile(folder / "a.whl", "w") as wheel:
            wheel.write(library, f"a.libs/{library.name.replace('.so', '-0123abcd.so')}")
        written = subprocess.run([self.clone / "scripts/sbom", folder], stdout=subprocess.PIPE, check=True,
                                 env=self.environment).stdout
        bill = json.loads(written)
        packages = {each["name"]: each for each in bill["packages"]}
        self.assertEqual(packages[f"holdfast-{VERSION}.tar.gz"]["checksums"][0]["checksumValue"],
                         hashlib.sha256(b"sources").hexdigest())
        related = {(each["spdxElementId"], each["relationshipType"], each["relatedSpdxElement"])
                   for each in bill["relationships"]}
        for needed in ("libsqlite3-0", "libpq5", "libssl3", "libmariadb3"):
            said = run("dpkg-query", "-W", "-f", "${Version}", needed).stdout
            self.assertEqual(packages[needed]["versionInfo"], said)
            self.assertIn(("SPDXRef-a.deb", "DYNAMIC_LINK", f"SPDXRef-{needed}"), related)
        self.assertIn(("SPDXRef-a.deb", "STATIC_LINK", "SPDXRef-libboost-dev"), related)
        self.assertNotIn(("SPDXRef-a.deb", "STATIC_LINK", "SPDXRef-libcli11-dev"), related, "it is in the command alone")
        self.assertIn(("SPDXRef-a.whl", "CONTAINS", "SPDXRef-libsqlite3-0"), related)
        self.assertIn(("SPDXRef-libsqlite3-dev", "BUILD_DEPENDENCY_OF", f"SPDXRef-holdfast-{VERSION}.tar.gz"), related)
        self.valid(written, folder)

    def valid(self, written, folder):
        """For the validator of SPDX's own project, which does refuse what is wrong."""
        program = ("import sys\nfrom spdx_tools.spdx.parser.json import json_parser\n"
                   "from spdx_tools.spdx.validation.document_validator import validate_full_spdx_document as validate\n"
                   "for each in validate(json_parser.parse_from_file(sys.argv[1])): print(each.validation_message)")

        def answer(text):
            (folder / "bill.json").write_bytes(text)
            return run("/usr/bin/python3", "-B", "-c", program, folder / "bill.json",
                       env={**self.environment, "PYTHONPATH": str(ROOT / ".deps/spdx")}).stdout

        self.assertEqual(answer(written), "")
        self.assertIn("SPDXRef-libpq5", answer(written.replace(b'"SPDXID": "SPDXRef-libpq5"', b'"SPDXID": "SPDXRef-gone"')))


BUILD, LIBRARY = sys.argv[1:3]
PACKS_THE_BUILD = ("debian/rules", "\nexport ", f"\nHOLDFAST_BUILD = {BUILD}\nexport ")
unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
