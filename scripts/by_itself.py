#!/usr/bin/env python3
"""Compiles sources and headers, each by itself, and writes no object: where many are compiled as one, a missing include does
not show. The sources of the library are read by clang-tidy, with the checks that take little time; scripts/check --all has
the others.

    scripts/by_itself.py BUILD JOBS <FILES

BUILD has compile_commands.json. FILES are lines; a file that the build does not compile, and that is no header beside one,
is passed over. Prints what is wrong with each that fails. Status 1: one has failed, or none was found to compile.
"""

import concurrent.futures
import json
import os
import pathlib
import shlex
import subprocess
import sys


# Each check reads all headers, which takes a tenth of a second and more.
QUICK_CHECKS = ("-*", "bugprone-use-after-move", "bugprone-dangling-handle", "bugprone-unused-return-value",
                "performance-unnecessary-value-param", "performance-for-range-copy", "performance-move-const-arg",
                "misc-unused-parameters", "misc-unused-using-decls", "misc-const-correctness",
                "readability-identifier-naming", "readability-inconsistent-declaration-parameter-name",
                "readability-duplicate-include", "modernize-use-override", "cppcoreguidelines-pro-type-member-init",
                "google-explicit-constructor")


def commands_of(build):
    """{source: its command, as words}"""
    entries = json.loads((build / "compile_commands.json").read_text())
    return {pathlib.Path(each["file"]): shlex.split(each["command"]) for each in entries}


def command_for(path, commands):
    """Its own, or, for a header of C++, that of the source in C++ whose path has the longest part in common with it."""
    words = commands.get(path)
    if not words and path.suffix == ".hpp":
        near = max((each for each in commands if each.suffix == ".cpp"), key=lambda each: len(os.path.commonpath([each, path])))
        if near.is_relative_to(path.parents[len(path.parents) - len(pathlib.Path.cwd().parents) - 2]):
            words = commands[near]
    if not words:
        return None
    flags = [word for word in words[:-1] if word != "-c"]
    at = flags.index("-o")
    del flags[at:at + 2]
    return flags + ["-fsyntax-only", "-Wno-pragma-once-outside-header", "-Wno-unused-const-variable",
                    "-Wno-unused-function", "-x", "c" if path.suffix == ".c" else "c++", str(path)]


def compile_one(command):
    ended = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return ended.stdout if ended.returncode else None


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    commands = commands_of(pathlib.Path(sys.argv[1]))
    lines = [pathlib.Path(line).resolve() for line in sys.stdin.read().splitlines() if line.endswith((".cpp", ".hpp", ".c"))]
    # The source of a header's name includes it first, and so reads it by itself, too.
    wanted = list(dict.fromkeys(each if (source := each.with_suffix(".cpp")) not in commands else source for each in lines))
    tidy = ["clang-tidy-19", "-p", sys.argv[1], "--quiet", "-checks=" + ",".join(QUICK_CHECKS)]
    found = []
    for path in wanted:
        if path in commands and path.is_relative_to(pathlib.Path.cwd() / "src"):
            found.append(tidy + [str(path)])
        elif command := command_for(path, commands):
            found.append(command)
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(int(sys.argv[2])) as pool:
        for done, said in enumerate(pool.map(compile_one, found), 1):
            print(f"[{done}/{len(found)}]", flush=True)
            if said is not None:
                failed += 1
                print(said)
    print(f"{len(found)} read by themselves, {failed} failed")
    sys.exit(1 if failed or (wanted and not found) else 0)


main()
