#!/usr/bin/env bash
# A scheduler with a hot standby, as in two terminals: the leader is killed, and the standby takes over when the
# leader's ttl is over. No server: the election is in a SQLite file in a temporary folder.
#
#   examples/standby.sh [BUILD-FOLDER]    without a folder: of the command that is installed
set -euo pipefail

holdfast=holdfast
if (($# > 0)); then holdfast=$1/cli/holdfast; fi
command -v "$holdfast" >/dev/null || {
  echo "error: there is no command '$holdfast'" >&2
  exit 1
}
ttl=6s
patience_s=30

folder=$(mktemp -d)
candidates=()
end() {
  local each
  for each in "${candidates[@]}"; do kill "$each" 2>/dev/null || true; done
  wait
  rm -rf "$folder"
}
trap end EXIT
export HOLDFAST_STORE=sqlite:$folder/locks.db
started=$EPOCHREALTIME

# row TERMINAL TEXT: a line in the column of that terminal.
row() {
  local left='' right=''
  if (($1 == 1)); then left=$2; else right=$2; fi
  awk -v since="$started" -v now="$EPOCHREALTIME" -v left="$left" -v right="$right" \
    'BEGIN { printf "  %4.1f s   %-34s %s\n", now - since, left, right }' | sed 's/ *$//'
}

# open_terminal N: a candidate that schedules jobs while it leads.
open_terminal() {
  local line
  row "$1" "\$ holdfast elect scheduler …"
  # shellcheck disable=SC2016 # the job's shell knows the token
  "$holdfast" elect scheduler --value "host $1" --ttl "$ttl" -- \
    sh -c 'echo "leads, token $HOLDFAST_TOKEN"; while sleep 1; do echo "runs a job"; done' \
    > >(while read -r line; do
      row "$1" "$line"
      echo "$line" >>"$folder/terminal-$1"
    done) &
  candidates+=($!)
}

# token_of N: of the last term that this terminal has won; nothing before.
token_of() { sed -n 's/^leads, token //p' "$folder/terminal-$1" 2>/dev/null | tail -1 || true; }

await_leader() { # TERMINAL
  local until=$((SECONDS + patience_s))
  while [[ -z $(token_of "$1") ]]; do
    if ((SECONDS > until)); then
      echo "error: terminal $1 does not lead after $patience_s s" >&2
      exit 1
    fi
    sleep 0.1
  done
}

printf '\nTwo processes stand for election; the ttl is %s.\n\n' "$ttl"
printf '           %-34s %s\n' 'terminal 1' 'terminal 2'
open_terminal 1
await_leader 1
open_terminal 2
sleep 2.5
disown "${candidates[0]}" # so that the shell does not report its death
kill -KILL "${candidates[0]}"
row 1 '(killed)'
await_leader 2
sleep 1.5

leader=$("$holdfast" leader scheduler)
if [[ $leader != "host 2" ]] || (($(token_of 2) <= $(token_of 1))); then
  echo "error: the leader is '$leader', and its token $(token_of 2) after $(token_of 1)" >&2
  exit 1
fi
