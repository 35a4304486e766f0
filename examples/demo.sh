#!/usr/bin/env bash
# One stock, eight processes that sell from it: without a lock, with holdfast::mutex, and as shell scripts under
# `holdfast run`. No server: the locks are in a SQLite file in a temporary folder.
#
#   examples/demo.sh BUILD-FOLDER
set -euo pipefail

build=$(cd "$1" && pwd)
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
inventory=$build/examples/inventory
holdfast=$build/cli/holdfast
processes=8
stock=200
script_stock=40 # a shell script is started for each unit, which takes longer than the sale

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export HOLDFAST_STORE=sqlite:$folder/locks.db

row() { printf '  %-34s %6s %6s %9s %8s\n' "$@"; }

# result LOCK: "sold seconds" of one run of the inventory program.
result() {
  "$inventory" --lock "$1" --processes "$processes" --stock "$stock" |
    sed -n 's/.* sold \([0-9]*\) by .* in \([0-9.]*\) s.*/\1 \2/p'
}

# One of the shell sellers: sells under the lock until the script says that nothing is left.
sell_by_script() {
  local status=0
  while ((status == 0)); do
    "$holdfast" run stock/sku-42 -- "$here/deduct.sh" "$folder" || status=$?
  done
  ((status == 3))
}

sell_by_scripts() {
  local sellers=() seller started=$EPOCHREALTIME
  echo "$script_stock" >"$folder/left"
  : >"$folder/sold"
  for ((i = 0; i < processes; i++)); do
    sell_by_script &
    sellers+=($!)
  done
  for seller in "${sellers[@]}"; do wait "$seller"; done
  sold=$(wc -c <"$folder/sold")
  seconds=$(awk "BEGIN { printf \"%.2f\", $EPOCHREALTIME - $started }")
}

verdict() { # SOLD STOCK
  if (($1 == $2)); then echo no; else echo "by $(($1 - $2))"; fi
}

printf '\n%d processes sell from one stock: read what is left, take payment, write one less.\n\n' "$processes"
row '' stock sold oversold seconds

# A race may be won by luck, so the unlocked run has a few tries to go wrong.
for _ in 1 2 3; do
  read -r sold seconds < <(result none)
  ((sold == stock)) || break
done
row 'without a lock' "$stock" "$sold" "$(verdict "$sold" "$stock")" "$seconds"
unlocked=$sold

read -r sold seconds < <(result mutex)
row 'with holdfast::mutex' "$stock" "$sold" "$(verdict "$sold" "$stock")" "$seconds"
by_mutex=$sold

sell_by_scripts
row 'shell scripts under holdfast run' "$script_stock" "$sold" "$(verdict "$sold" "$script_stock")" "$seconds"

if ((unlocked <= stock)); then
  echo "error: the run without a lock did not oversell, so the others prove nothing" >&2
  exit 1
fi
if ((by_mutex != stock || sold != script_stock)); then
  echo "error: a locked run did not sell exactly its stock" >&2
  exit 1
fi

near=${build#"$(cd "$here/.." && pwd)"/}
cat <<END

Every hold carries a fencing token, a deadline, and a signal when it is lost. Try it in two terminals:

  $near/cli/holdfast run demo -- sh -c 'echo "I hold it, token \$HOLDFAST_TOKEN"; sleep 10'
  $near/cli/holdfast show demo
END
