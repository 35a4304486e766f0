#!/usr/bin/env python3
"""Compiles sources and headers, each by itself, and writes no object: where many are compiled as one, a missing include does
not show.

    scripts/by_itself.py BUILD JOBS <FILES

BUILD has compile_commands.json. FILES are lines; a file that the build does not compile, and that is no header beside one,
is passed over. Prints what the compiler says of each that fails. Status 1: one has failed, or none was found to compile.
"""

import concurrent.futures
import json
import os
import pathlib
import shlex
import subprocess
import sys


def commands_of(build):
    """{source: its command, as words}"""
    entries = json.loads((build / "compile_commands.json").read_text())
    return {pathlib.Path(each["file"]): shlex.split(each["command"]) for each in entries}


def command_for(path, commands):
    """Its own, or, for a header, that of the source whose path has the longest part in common with it."""
    words = commands.get(path)
    if not words and path.suffix == ".hpp":
        near = max(commands, key=lambda each: len(os.path.commonpath([each, path])))
        if near.is_relative_to(path.parents[len(path.parents) - len(pathlib.Path.cwd().parents) - 2]):
            words = commands[near]
    if not words:
        return None
    flags = [word for word in words[:-1] if word != "-c"]
    at = flags.index("-o")
    del flags[at:at + 2]
    return flags + ["-fsyntax-only", "-Wno-pragma-once-outside-header", "-Wno-unused-const-variable",
                    "-Wno-unused-function", "-x", "c++", str(path)]


def compile_one(command):
    ended = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return ended.stdout if ended.returncode else None


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    commands = commands_of(pathlib.Path(sys.argv[1]))
    wanted = [pathlib.Path(line).resolve() for line in sys.stdin.read().splitlines() if line.endswith((".cpp", ".hpp"))]
    found = [command for path in wanted if (command := command_for(path, commands))]
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(int(sys.argv[2])) as pool:
        for done, said in enumerate(pool.map(compile_one, found), 1):
            print(f"[{done}/{len(found)}]", flush=True)
            if said is not None:
                failed += 1
                print(said)
    print(f"{len(found)} compiled by themselves, {failed} failed")
    sys.exit(1 if failed or (wanted and not found) else 0)


main()
