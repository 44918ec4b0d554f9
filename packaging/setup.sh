#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Installs what packaging/packages.txt lists and this machine lacks. For Debian 12, as root or with sudo; asks nothing; does
# nothing when all is there.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  echo "setup.sh: this is not Debian: install the counterparts of $here/packages.txt by hand" >&2
  exit 2
fi

missing=()
while read -r package; do
  state="$(dpkg-query -W -f '${Status}' "$package" 2>/dev/null || true)"
  [ "$state" = "install ok installed" ] || missing+=("$package")
done < <(sed -e 's/#.*//' -e '/^[[:space:]]*$/d' "$here/packages.txt")

if [ ${#missing[@]} -eq 0 ]; then
  echo "setup.sh: all packages are installed"
  exit 0
fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "setup.sh: missing: ${missing[*]}" >&2
    echo "setup.sh: run it as root, or install sudo" >&2
    exit 2
  fi
  as_root=(sudo)
fi

echo "setup.sh: installing ${missing[*]}"
apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -o Dpkg::Use-Pty=0)
install=("${apt[@]}" install -y --no-install-recommends "${missing[@]}")
# A machine that has just been made may have no lists of packages, or old ones.
"${apt[@]}" update
if ! "${install[@]}"; then
  echo "setup.sh: apt-get failed; \`sudo dpkg --configure -a\` mends an installation that was cut short" >&2
  exit 1
fi
