#!/bin/sh
# Sells one unit: reads how much is left, takes a moment for the payment, writes one less. It knows nothing of locks;
# to run it safely from many places at once, run it under one:
#
#   holdfast run stock/sku-42 -- deduct.sh FOLDER
#
# FOLDER holds `left`, the number of units, and `sold`, with a byte for each unit sold. Status 3: nothing is left.
set -eu
folder=$1

left=$(cat "$folder/left")
[ "${left:-0}" -gt 0 ] || exit 3
printf '*' >>"$folder/sold"
sleep 0.01
echo $((left - 1)) >"$folder/left"
