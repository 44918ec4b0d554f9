#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Fetches the libtorch inside the PyPI wheel `torch` into build/torch2/wheel, where `cmake --preset torch2` looks for it.
#
#   packaging/torch2.sh [VERSION]           2.11.0 by default
#   TORCH_WHEEL=FILE packaging/torch2.sh    takes a wheel that is here already
#
# Only headers and the CPU libraries are unpacked. The wheel of PyPI is a CUDA build: its libtorch_cpu needs two small CUDA
# libraries (run-time and tracing), which come from their own wheels; no GPU, driver or toolkit is needed. Does nothing when it has
# been done before.
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
version="${1:-2.11.0}"
wheel_dir="$root/build/torch2/wheel"
stamp="$wheel_dir/.complete"
python=/usr/bin/python3

if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$version" ]; then
  echo "torch2.sh: libtorch $version is in $wheel_dir"
  exit 0
fi

rm -rf "$wheel_dir"
mkdir -p "$wheel_dir"
downloads="$(mktemp -d "$root/build/torch2/download.XXXXXX")"
trap 'rm -rf "$downloads"' EXIT

available_mib="$(df -Pm "$downloads" | awk 'NR == 2 {print $4}')"
if [ "$available_mib" -lt 2000 ]; then
  echo "torch2.sh: $root/build has $available_mib MiB free and 2000 are needed" >&2
  exit 1
fi

fetch() { # requirement, further options of pip
  if ! "$python" -m pip download --quiet --disable-pip-version-check --only-binary :all: --dest "$downloads" "$@"; then
    echo "torch2.sh: cannot fetch '$1' from the Python package index: is this machine offline?" >&2
    echo "torch2.sh: with a wheel at hand: TORCH_WHEEL=FILE packaging/torch2.sh $version" >&2
    exit 1
  fi
}

if [ -n "${TORCH_WHEEL:-}" ]; then
  [ -f "$TORCH_WHEEL" ] || { echo "torch2.sh: TORCH_WHEEL: there is no file $TORCH_WHEEL" >&2; exit 2; }
  wheel="$TORCH_WHEEL"
else
  echo "torch2.sh: fetching torch $version (about 530 MB)"
  fetch "torch==$version" --no-deps
  wheel="$(ls "$downloads"/torch-*.whl)"
fi

# unpack WHEEL PREFIX...: extracts the members that begin with one of the prefixes; fails when there are none.
unpack() {
  "$python" - "$wheel_dir" "$@" <<'PYTHON'
import sys
import zipfile

target, wheel, *prefixes = sys.argv[1:]
with zipfile.ZipFile(wheel) as archive:
    members = [name for name in archive.namelist() if name.startswith(tuple(prefixes))]
    if not members:
        sys.exit(f"torch2.sh: {wheel} has none of {prefixes}")
    archive.extractall(target, members)
PYTHON
}

unpack "$wheel" torch/include/ torch/lib/libc10.so torch/lib/libtorch_cpu.so torch/lib/libgomp torch/version.py \
  "torch-$version.dist-info/METADATA" torch-"$version"

library="$wheel_dir/torch/lib/libtorch_cpu.so"
needed="$(readelf -d "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')"
if grep -q '^libcudart' <<<"$needed"; then
  toolkit="$(sed -n 's/^Requires-Dist: cuda-toolkit\[[^]]*\]==\([0-9.]*\).*/\1/p' "$wheel_dir"/torch-*.dist-info/METADATA | head -1)"
  [ -n "$toolkit" ] || { echo "torch2.sh: the wheel needs libcudart but does not say which" >&2; exit 1; }
  echo "torch2.sh: fetching the two CUDA $toolkit libraries that libtorch_cpu needs (13 MB)"
  fetch "cuda-toolkit[cudart,cupti]==$toolkit"
  for extra in "$downloads"/nvidia_*.whl; do unpack "$extra" nvidia/; done
fi

# What the build links must load, and be the version that was asked for.
"$python" - "$library" <<'PYTHON'
import ctypes
import sys

try:
    ctypes.CDLL(sys.argv[1])
except OSError as error:
    sys.exit(f"torch2.sh: the unpacked library cannot be loaded: {error}")
PYTHON
found="$(sed -n "s/^__version__ = '\([0-9.]*\).*/\1/p" "$wheel_dir/torch/version.py")"
[ "$found" = "$version" ] || { echo "torch2.sh: the wheel holds torch $found, not $version" >&2; exit 1; }
echo "$version" >"$stamp"
echo "torch2.sh: libtorch $version is in $wheel_dir"
