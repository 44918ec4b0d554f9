#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Everything that must be green: set-up, the release build with all tests, the sanitizers, and the second libtorch. Goes on after a
# failure, except into what needs the failed part, and ends with a table; exit code 1 when anything failed.
#
#   packaging/test.sh              set-up, release build, all its tests, the quickstart
#   packaging/test.sh quick        set-up, release build, quick tests
#   packaging/test.sh full         the same as without argument, then the sanitizers and the second libtorch
#
# On two cores with cold caches it stays within 70 minutes; each section has a limit of its own, and so has the whole.
set -uo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
cd "$root"
only="${1:-default}"
jobs="$(nproc)"
# Objects are shared between clones in different folders.
export CCACHE_BASEDIR="$root" CCACHE_NOHASHDIR=1
export CTEST_OUTPUT_ON_FAILURE=1

limit_minutes=85
names=() results=() seconds=()
declare -A ok=()

# section NAME NEEDS MINUTES COMMAND...: NEEDS is the name of a section that must have passed, or "-".
section() {
  local name="$1" needs="$2" minutes="$3" began=$SECONDS result
  local left=$((limit_minutes - SECONDS / 60))
  shift 3
  [ "$minutes" -le "$left" ] || minutes="$left"
  echo
  echo "=== $name ==="
  if [ "$needs" != - ] && [ -z "${ok[$needs]:-}" ]; then
    echo "skipped: '$needs' failed"
    result=skipped
  elif [ "$minutes" -le 0 ]; then
    echo "skipped: the $limit_minutes minutes of the whole are over"
    result=skipped
  elif timeout --kill-after=10 "${minutes}m" "$@"; then
    result=passed
    ok[$name]=1
  else
    local status=$?
    result=failed
    [ $status -ne 124 ] || echo "'$name' ran longer than $minutes minutes"
  fi
  names+=("$name") results+=("$result") seconds+=($((SECONDS - began)))
  echo "--- $name: $result after $((SECONDS - began)) s"
}

build() { # PRESET
  bash -c 'cmake --preset "$0" && cmake --build --preset "$0" -j "$1"' "$1" "$jobs"
}
tests() { # PRESET LABEL JOBS
  ctest --test-dir "build/$1" -L "$2" -j "$3" --no-tests=error
}
export -f build tests
export jobs

finish() {
  local i failed=0 passed=0 skipped=0
  echo
  echo "=== summary ==="
  for i in "${!names[@]}"; do
    printf '%-8s %5d s  %s\n' "${results[$i]}" "${seconds[$i]}" "${names[$i]}"
    case "${results[$i]}" in
      passed) passed=$((passed + 1)) ;;
      failed) failed=$((failed + 1)) ;;
      skipped) skipped=$((skipped + 1)) ;;
    esac
  done
  echo "sections: $passed passed, $failed failed, $skipped skipped"
  [ $((failed + skipped)) -eq 0 ]
  exit $?
}

section "set-up" - 15 packaging/setup.sh
section "release build" "set-up" 35 bash -c 'build release'
section "quick tests" "release build" 8 bash -c 'tests release quick "$jobs"'
[ "$only" = quick ] && finish
section "slow tests" "release build" 20 bash -c 'tests release slow 1'
section "quickstart" "release build" 6 packaging/quickstart.sh
[ "$only" = full ] || finish
section "thread sanitizer build" "set-up" 10 bash -c 'build tsan'
section "thread sanitizer tests" "thread sanitizer build" 8 bash -c 'tests tsan quick "$jobs"'
section "second libtorch fetch" "set-up" 8 packaging/torch2.sh
section "second libtorch build" "second libtorch fetch" 25 bash -c \
  'cmake --preset torch2 -DDTRAIN_BUILD_TESTS=OFF && cmake --build --preset torch2 --target product -j "$jobs"'
section "second libtorch two-rank hash" "second libtorch build" 5 packaging/hash_test.sh build/torch2 recipes/gpt_debian.toml 5 1 2
section "address sanitizer build" "set-up" 25 bash -c 'build asan'
section "address sanitizer tests" "address sanitizer build" 10 bash -c 'tests asan quick "$jobs"'
finish
