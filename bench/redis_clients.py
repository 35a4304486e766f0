"""Redisson, redsync and redislock: fetched by Maven's and Go's own tools, in the versions that bench/libraries pins."""

import os
import pathlib
import shutil
import subprocess

from figures import tell

folder = pathlib.Path(__file__).resolve().parent / "libraries"
JVM = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")  # two cores are soon full of compilers


def clients(build):
    """Name -> command, of those that could be had; and of the others why not. Kept in the build folder."""
    found, missing = {}, {}
    for names, make in (({"Redisson RLock": "lock", "Redisson fair lock": "fair"}, redisson),
                        ({"redsync": "redsync", "redislock": "redislock"}, go_redis)):
        try:
            command = make(build / "bench" / "libraries")
        except (OSError, subprocess.SubprocessError) as problem:
            missing |= dict.fromkeys(names, cause_of(problem))
        else:
            found |= {name: [*command, kind] for name, kind in names.items()}
    return found, missing


def cause_of(problem):
    """The last line of what a program said that failed."""
    said = getattr(problem, "output", None) or str(problem)
    return said.strip().splitlines()[-1]


def run(*command, **options):
    subprocess.run([str(each) for each in command], check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                   text=True, timeout=600, **options)


def redisson(to):
    """The class path has the driver's classes and the jars."""
    source = folder / "redisson"
    jars, classes = to / "redisson" / "jars", to / "redisson" / "classes"
    if not jars.is_dir():
        tell("Maven fetches Redisson", always=True)
        fetched = to / "redisson" / "fetched"
        shutil.rmtree(fetched, ignore_errors=True)
        # Maven writes beside its pom.xml as well.
        fetched.mkdir(parents=True)
        shutil.copy(source / "pom.xml", fetched)
        run("mvn", "-q", "-B", "-f", fetched / "pom.xml", "dependency:copy-dependencies",
            f"-DoutputDirectory={fetched / 'jars'}")
        (fetched / "jars").rename(jars)  # there as a whole, or not at all
    classes.mkdir(parents=True, exist_ok=True)
    run("javac", "-encoding", "UTF-8", "-cp", f"{jars}/*", "-d", classes, source / "redisson_bench.java")
    return ["java", *JVM, "-cp", f"{classes}:{jars}/*", "RedissonBench"]


def go_redis(to):
    to.mkdir(parents=True, exist_ok=True)
    program = to / "go_redis_bench"
    tell("Go fetches redsync and redislock", always=True)
    run("go", "build", "-o", program, ".", cwd=folder / "go_redis", env=os.environ | {"GOFLAGS": "-mod=readonly"})
    return [program]
