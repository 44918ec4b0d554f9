#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Installs a build into a folder, then builds plugins against that folder alone: the example project, and what
# `dtrain plugin new` writes. out_of_tree.sh BUILD_FOLDER EXAMPLE_FOLDER
set -euo pipefail
build="$1" example="$2"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
prefix="$work/a prefix"  # a blank, because a home folder may have one
unset DTRAIN_PLUGIN_PATH
export HOME="$work"

fail() { echo "FAILED: $*" >&2; exit 1; }

cmake --install "$build" --prefix "$prefix" >"$work/install.log" || { cat "$work/install.log"; fail "cmake --install"; }
dtrain="$prefix/bin/dtrain"

configure() { # SOURCE BUILD
  cmake -S "$1" -B "$2" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_CXX_COMPILER="$DTRAIN_CXX" \
    ${DTRAIN_TORCH_ROOT:+-DDTRAIN_TORCH_ROOT="$DTRAIN_TORCH_ROOT"} -DCMAKE_CXX_FLAGS="-Wall -Wextra -Werror" >"$2.log" 2>&1 \
    || { cat "$2.log"; fail "configuring $1"; }
}
build_all() { cmake --build "$1" >"$1.log" 2>&1 || { cat "$1.log"; fail "building $1"; }; }

# The installed dtrain finds the installed plugins, wherever the installation was put.
"$dtrain" plugin list >"$work/list"
grep -qE "^optimizer +sgd .* ok +$prefix/" "$work/list" || { cat "$work/list"; fail "the installed plugins are not found"; }

if [ "$DTRAIN_WITH_TORCH" = ON ]; then
  cp -r "$example" "$work/example"
  configure "$work/example" "$work/example-build"
  build_all "$work/example-build"
  "$dtrain" plugin info "$work/example-build/tiny.so" | tee "$work/info"
  grep -q "^model tiny-mlp$" "$work/info" || fail "plugin info does not name the model"
  grep -q "^  ABI ok$" "$work/info" || fail "the ABI tag is not the installation's"
  grep -qE "^  num_layers +integer +4 +1 to 512 +refused +residual blocks$" "$work/info" || fail "num_layers"
  "$dtrain" plugin test "$work/example-build/tiny.so" || fail "plugin test tiny"
  "$dtrain" plugin test "$work/example-build/plain.so" || fail "plugin test plain"
  # Installed for the user, it is found by name.
  cmake --install "$work/example-build" --prefix "$HOME/.local" >/dev/null
  "$dtrain" plugin info optimizer/plain-sgd >/dev/null || fail "the user's folder is not searched"
  skeletons="model loss"
fi

# Every skeleton builds without a warning and passes its own test.
for kind in ${skeletons:-} optimizer data tokenizer schedule store comm; do
  "$dtrain" plugin new "$kind" "my-$kind" "$work/new-$kind" >/dev/null
  configure "$work/new-$kind" "$work/new-$kind-build"
  build_all "$work/new-$kind-build"
  "$dtrain" plugin test "$work/new-$kind-build/my-$kind.so" || fail "the skeleton of $kind"
done

# A plugin that forgets a library is refused when it is linked.
mkdir "$work/missing"
cat >"$work/missing/CMakeLists.txt" <<'EOF'
cmake_minimum_required(VERSION 3.25)
project(missing LANGUAGES CXX)
find_package(dtrain REQUIRED)
dtrain_add_plugin(missing SOURCES missing.cpp)
EOF
cat >"$work/missing/missing.cpp" <<'EOF'
#include <dtrain/schedule.h>
double elsewhere();
struct Missing : dtrain::Schedule {
  Missing(const dtrain::ScheduleContext&, const dtrain::NoOptions&) {}
  double factor(std::int64_t) const override { return elsewhere(); }
};
DTRAIN_PLUGIN("missing", "1.0.0", dtrain::schedule<Missing>("missing"))
EOF
configure "$work/missing" "$work/missing-build"
if cmake --build "$work/missing-build" >"$work/missing.log" 2>&1; then fail "an undefined symbol was linked"; fi
grep -q "undefined reference to .elsewhere()" "$work/missing.log" || { cat "$work/missing.log"; fail "the linker's message"; }
echo "out of tree: all passed"
