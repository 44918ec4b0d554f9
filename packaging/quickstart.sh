#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# From a fresh Debian 12 to a trained model: installs what is missing, builds, trains a small GPT on the licence texts of this
# machine with two ranks, and lets it write. Run it again and it goes on from what is there.
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
cd "$root"

packaging/setup.sh
cmake --preset release
cmake --build --preset release --target product

dtrain=build/release/bin/dtrain
"$dtrain" run recipes/quickstart.toml --ranks 2 --run-dir runs/quickstart
echo
echo "What it writes after 'The licence ':"
"$dtrain" generate runs/quickstart --prompt "The licence "
