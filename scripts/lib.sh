# shellcheck shell=bash
# What scripts/setup, scripts/test and scripts/demo have in common: steps that are shown with their time, whose long
# output goes to a log, and which say what to do when they fail.
# To be sourced, by bash, after `set -euo pipefail`.

unset CDPATH # with which cd prints where it went
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
script=$root/scripts/${0##*/}
logs=$root/build/logs
cd "$root"
mkdir -p "$logs"

# A script that is ended leaves nothing behind that it has started.
trap 'jobs=$(jobs -p); [[ -z $jobs ]] || kill $jobs 2>/dev/null || true' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# The comment at the top of the script.
help() { sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$script"; }

# One compiler cache for all copies of the tree, where ccache is installed: paths within the tree count as relative.
export CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=1

# Colours help a person and harm a log: terminal only, and never against NO_COLOR (no-color.org).
if [[ -t 1 && -z ${NO_COLOR:-} && ${TERM:-dumb} != dumb ]]; then
  bold=$'\e[1m' green=$'\e[32m' red=$'\e[31m' dim=$'\e[2m' plain=$'\e[0m'
else
  bold='' green='' red='' dim='' plain=''
fi

say() { printf '%s==>%s %s%s%s\n' "$green" "$plain" "$bold" "$*" "$plain"; }
note() { printf '    %s\n' "$*"; }
fail() { printf '%serror:%s %s\n' "$red" "$plain" "$*" >&2; }
die() {
  fail "$@"
  exit 1
}

# step TITLE COMMAND...: runs the command with its output in a log; on failure shows the errors and the end of that log
# and returns the command's status, so that the caller decides whether to go on. step_seconds and step_processor_ms are what it took,
# step_log is its log.
step_seconds=0 step_processor_ms=0 step_log=
step() {
  local title=$1 log started=$SECONDS processor_before status=0
  shift
  log=$logs/$(tr -cs 'a-zA-Z0-9\n' - <<<"$title" | sed 's/-$//').log
  step_log=$log
  say "$title"
  measure_processors
  processor_before=$processor_ms
  show_progress "$log" &
  local progress=$!
  ("$@") >"$log" 2>&1 </dev/null || status=$? # a subshell, so that an exit within ends up here too
  kill "$progress" 2>/dev/null || true
  wait "$progress" 2>/dev/null || true
  measure_processors
  step_seconds=$((SECONDS - started)) step_processor_ms=$((processor_ms - processor_before))
  if ((status == 0)); then
    printf '    %sdone in %d s%s\n' "$dim" "$step_seconds" "$plain"
    return 0
  fi
  # Tools that run in parallel go on after an error, which is then far from the end.
  grep -E -m 30 '(^|[: ])(fatal )?(error|FAILED):' "$log" | cut -c1-300 | sed 's/^/    ! /' || true
  tail -n 40 "$log" | cut -c1-300 | sed 's/^/    | /'
  if ((status == 124)); then
    fail "'$title' took too long and was stopped after $step_seconds s"
  else
    fail "'$title' failed (status $status) after $step_seconds s"
  fi
  note "all of its output: ${log#"$root"/}"
  return "$status"
}

# show_progress LOG: each minute a line with the last thing that Ninja, CTest or another tool has counted in the log.
progress_seconds=60 # a test sets less
show_progress() {
  local started=$SECONDS nothing counted
  exec {nothing}<> <(:) # `read` waits here: a sleep(1) would outlive this shell
  while ! read -rt "$progress_seconds" -u "$nothing"; do
    counted=$(grep -aoE '^ *\[?[0-9]+/[0-9]+\]?' "$1" | tail -n 1 | tr -d '[] ' || true) # a log may count nothing
    note "$dim$(((SECONDS - started) / 60)) min${counted:+: $counted}$plain"
  done
}

# Sets base, the commit since which changes are looked at, and changed, the files that differ from it, those that are gone
# included. The commit is HOLDFAST_BASE, or the newest one that is older than six hours, in which a day's work is checked. Without
# such a commit every file counts.
base='' changed=''
find_changes() {
  [[ $(git rev-parse --show-toplevel 2>/dev/null) -ef $root ]] || die "this is no clone of git, which tells what has changed"
  local since=${HOLDFAST_BASE:-$(git rev-list -1 --before='6 hours ago' HEAD)}
  if [[ -n $since ]]; then
    base=$(git rev-parse --verify -q "$since^{commit}") || die "HOLDFAST_BASE=$since is no commit"
    changed=$(git diff --name-only --no-renames "$base" && git ls-files --others --exclude-standard)
  else
    changed=$(git ls-files --cached --others --exclude-standard)
  fi
  changed=$(sort -u <<<"$changed")
}

without_comments() { g++ -w -fpreprocessed -dD -E -P -x c++ -; }

# Prints the sources among the changed files. A file whose comments alone have changed compiles as before, and is left out.
# One that cannot be compared counts as changed.
changed_sources() {
  local file former now
  { grep -E '^(src|include|cli|bench|examples)/.*\.([ch]pp|c)$' <<<"$changed" || true; } | while IFS= read -r file; do
    [[ -f $file ]] || continue
    [[ -n $base ]] && former=$(git show "$base:$file" 2>/dev/null | without_comments) &&
      now=$(without_comments <"$file") && [[ $former == "$now" ]] || echo "$file"
  done
}

# Sets up CMake's build folder for a preset. A folder that exists is configured again only by CMake itself, when one of
# its inputs changed, or when the caller asks for options: that keeps a second run quick.
configure() {
  local preset=$1
  shift
  if (($# == 0)) && [[ -f build/$preset/build.ninja ]]; then return 0; fi
  cmake --preset "$preset" "$@"
}

# make_wheel TREE WORK FOLDER: the package for Python of a copy of the tree, by the modules that scripts/setup has brought.
# auditwheel takes the libraries along that a system may not have. Times are those of the commit here, and permissions no umask's.
make_wheel() (
  umask 022
  chmod -R u=rwX,go=rX "$1/bindings/python"
  export PYTHONPATH=$root/.deps/python_package PATH=$root/.deps/python_package/bin:$PATH
  SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
  export SOURCE_DATE_EPOCH
  /usr/bin/python3 -m pip wheel --disable-pip-version-check --no-build-isolation --no-deps -w "$2" \
    --config-settings=cmake.define.CMAKE_UNITY_BUILD=ON "$1/bindings/python" &&
    /usr/bin/python3 -m auditwheel repair -w "$3" "$2"/*.whl
)

cores() { nproc 2>/dev/null || echo 2; }

# Sets processor_ms: the processor time, in milliseconds, of all commands that this shell has started and that have ended.
processor_ms=0
measure_processors() {
  local of_commands
  times >"$logs/processor-times" # by a file: a subshell would see its own commands alone
  of_commands=$(sed -n 2p "$logs/processor-times")
  processor_ms=$(LC_ALL=C awk '{ gsub("s", ""); gsub(",", ".")
    for (i = 1; i <= 2; ++i) { split($i, part, "m"); sum += part[1] * 60000 + part[2] * 1000 } printf "%d", sum }' \
    <<<"$of_commands")
}
