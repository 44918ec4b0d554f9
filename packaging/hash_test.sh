#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Trains the same recipe on each number of ranks and compares the hashes of what comes out: they must be one and the same.
#
#   packaging/hash_test.sh BUILD_DIR RECIPE STEPS RANKS...
set -euo pipefail
[ $# -ge 5 ] || { echo "usage: hash_test.sh BUILD_DIR RECIPE STEPS RANKS RANKS..." >&2; exit 2; }
dtrain="$1/bin/dtrain" recipe="$2" steps="$3"
shift 3
runs="$(mktemp -d)"
trap 'rm -rf "$runs"' EXIT
expected=
for ranks in "$@"; do
  if ! "$dtrain" run "$recipe" --ranks "$ranks" --run-dir "$runs/r$ranks" --set "train.steps=$steps" >"$runs/log" 2>&1; then
    cat "$runs/log" >&2
    echo "hash_test.sh: $recipe on $ranks ranks failed" >&2
    exit 1
  fi
  hash="$("$dtrain" ckpt hash "$runs/r$ranks")"
  echo "$recipe, $steps steps, $ranks ranks: $hash"
  [ -n "$hash" ] || { echo "hash_test.sh: no hash" >&2; exit 1; }
  if [ "$hash" != "${expected:=$hash}" ]; then
    echo "hash_test.sh: $ranks ranks give another hash than the first: $expected" >&2
    exit 1
  fi
done
