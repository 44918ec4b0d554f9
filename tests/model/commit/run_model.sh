#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Checks commit.pml exhaustively, then that each mutation of the protocol is found out.
#
#   run_model.sh MODEL WORK_DIR
set -euo pipefail
model="$(realpath "$1")" work="$2"
command -v spin >/dev/null || { echo "run_model.sh: spin is not installed (sudo apt-get install spin)" >&2; exit 1; }
rm -rf "$work"

# verify NAME VERDICT "SPIN OPTIONS" "CC OPTIONS" "PAN OPTIONS": VERDICT is the number of errors that pan must report.
verify() {
  local name="$1" verdict="$2"
  mkdir -p "$work/$name"
  cd "$work/$name"
  # shellcheck disable=SC2086
  spin $3 -a "$model" >spin.log 2>&1 || { cat spin.log >&2; exit 1; }
  # shellcheck disable=SC2086
  cc -w -O2 $4 -DCOLLAPSE -DMEMLIM=4000 -o pan pan.c
  # shellcheck disable=SC2086
  ./pan -m200000 $5 >pan.log 2>&1 || true
  local errors
  errors="$(sed -n 's/.*errors: \([0-9]*\)$/\1/p' pan.log)"
  if [ "$errors" != "$verdict" ] || grep -q -e 'max search depth too small' -e 'out of memory' pan.log ||
    { [ "$verdict" = 0 ] && grep -q 'Search not completed' pan.log; }; then
    cat pan.log >&2
    echo "run_model.sh: $name: ${errors:-no} errors, expected $verdict" >&2
    exit 1
  fi
  echo "$name: $errors errors, $(sed -n 's/^ *\([0-9]*\) states, stored.*/\1/p' pan.log | head -1) states$(
    sed -n 's/^pan:1: /; /p' pan.log)"
}

verify two_crashes 0 "" -DSAFETY ""
verify no_cycles 0 -DCRASHES=1 -DNP -l
for mutation in NO_LEARNING LATE_RECEIVE EARLY_PUBLISH NO_REPAIR; do
  verify "$mutation" 1 "-DMUTATE_$mutation" -DSAFETY ""
done
