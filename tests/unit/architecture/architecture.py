#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the architecture: who may include and link whom, where libtorch may be seen, and what every file must carry.
Tests may look into a plugin; the product may not.

usage: architecture.py ROOT [--links FILE] [--build DIR]

FILE holds what CMake knows of links, one `target folder library...` a line. DIR is a build tree: the shared objects and programs
that are in it are asked what they need. Prints one line a violation; exit code 1 when there is one.
"""
import argparse
import os
import re
import subprocess
import sys

# What a folder below core/ may include from core/ besides itself and the SDK (core/include). Services that stand side by side
# do not know each other: train and worker bring them together.
FOUNDATION = {"base", "plugin", "recipe", "plan"}
SERVICES = {"comm", "launch", "state", "data", "ckpt", "observe"}
ALLOWED = {
    "base": set(),
    "plugin": {"base"},
    "recipe": {"base", "plugin"},
    "plan": {"base", "plugin", "recipe"},
    **{service: FOUNDATION for service in SERVICES},
    "observe": FOUNDATION | {"launch"},  # shows what the launcher reports
    "nn": FOUNDATION,
    "infer": FOUNDATION | {"nn"},
    "train": FOUNDATION | SERVICES - {"launch"} | {"nn"},
    "worker": FOUNDATION | SERVICES | {"nn", "infer", "train"},
}
TORCH_FOLDERS = {"nn", "infer", "train", "worker"}  # below core/; everything else there is free of libtorch
CLI_MAY_USE = FOUNDATION | SERVICES  # the command line answers in milliseconds: it never sees libtorch
TORCH_FREE_PLUGINS = {"comm", "stores", "tokenizers", "data", "optimizers", "schedules", "sinks", "strategies"}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)
RAW_STRING = re.compile(r'R"([^(\s]*)\(.*?\)\1"', re.DOTALL)  # text of another file: it includes nothing here
TORCH_HEADER = re.compile(r"^(ATen|torch|c10|caffe2)/")
TORCH_VERSION = re.compile(r"\bTORCH_VERSION(_MAJOR|_MINOR|_PATCH)?\b")
CPP = (".h", ".cpp")
SPDX = "SPDX-License-Identifier: Apache-2.0"


class Tree:
    """The source files of a checkout, read once."""

    def __init__(self, root):
        self.root = root
        self.text = {}
        self.found = {}  # includes of each file
        for folder, folders, files in os.walk(root):
            if folder == root:
                folders[:] = [f for f in folders if f not in ("build", "runs")]
            folders[:] = [f for f in folders if not f.startswith(".git") and f != "__pycache__"]
            for name in files:
                path = os.path.relpath(os.path.join(folder, name), root)
                if self.is_source(path):
                    with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as file:
                        self.text[path] = file.read()

    def is_source(self, path):
        name = os.path.basename(path)
        if name == "CMakeLists.txt" or name.endswith(CPP + (".cmake", ".py", ".sh", ".pml", ".cu")):
            return True
        if "." in name.lstrip("."):
            return False
        with open(os.path.join(self.root, path), "rb") as file:
            return file.read(2) == b"#!"

    def includes(self, path):
        if path not in self.found:
            self.found[path] = INCLUDE.findall(RAW_STRING.sub('""', self.text[path]))
        return self.found[path]

    def resolve(self, includer, quote, header):
        """The file of this tree that an include names, or None for the system's."""
        candidates = [header, os.path.join("core/include", header)]
        if quote == '"':
            candidates.insert(0, os.path.normpath(os.path.join(os.path.dirname(includer), header)))
        return next((c for c in candidates if c in self.text), None)

    def way_to_torch(self, path, seen=None):
        """The chain of includes that leads from a file to a header of libtorch, or None."""
        seen = set() if seen is None else seen
        if path in seen:
            return None
        seen.add(path)
        for quote, header in self.includes(path):
            if TORCH_HEADER.match(header):
                return [path, header]
            target = self.resolve(path, quote, header)
            way = target and self.way_to_torch(target, seen)
            if way:
                return [path, *way]
        return None


def core_folder(path):
    parts = path.split("/")
    return parts[1] if len(parts) > 2 and parts[0] == "core" else None


def is_torch_free(path):
    parts = path.split("/")
    if parts[0] == "cli":
        return True
    if parts[0] == "plugins" and len(parts) > 2:
        return parts[1] in TORCH_FREE_PLUGINS
    folder = core_folder(path)
    return folder is not None and folder not in TORCH_FOLDERS | {"include"}


def check_direction(tree, path, quote, header):
    target = tree.resolve(path, quote, header) or header
    parts, top = target.split("/"), path.split("/")[0]
    if parts[0] == "plugins" and top != "tests" and not (top == "plugins" and parts[1:3] == path.split("/")[1:3]):
        return "nothing includes from plugins/"
    if top == "plugins" and parts[0] in ("core", "cli", "tests") and not target.startswith("core/include/"):
        return "a plugin sees the SDK alone"
    if parts[0] == "tests" and top in ("core", "cli"):
        return "the product does not include from tests/"
    if top == "core":
        here, there = core_folder(path), core_folder(target)
        if parts[0] == "cli":
            return "core/ does not know cli/"
        if here == "include" and there not in (None, "include"):
            return "the SDK does not know what is behind it"
        if here != "include" and there not in (None, "include", here) and there not in ALLOWED.get(here, set()):
            if here not in ALLOWED:
                return f"core/{here} has no place in the order of folders (architecture.py)"
            return f"core/{here} may use {', '.join(sorted(ALLOWED[here])) or 'nothing'}"
    if top == "cli" and core_folder(target) not in (None, "include") and core_folder(target) not in CLI_MAY_USE:
        return f"cli/ may use core/{{{','.join(sorted(CLI_MAY_USE))}}}"
    return None


def check_sources(tree):
    for path in sorted(tree.text):
        if SPDX not in "\n".join(tree.text[path].splitlines()[:3]):
            yield f"{path}: no line '{SPDX}' at the top"
        if not path.endswith(CPP):
            continue
        if TORCH_VERSION.search(tree.text[path]) and path != "core/include/dtrain/torch_compat.h":
            yield f"{path}: tests the version of libtorch, which only torch_compat.h may"
        for quote, header in tree.includes(path):
            complaint = check_direction(tree, path, quote, header)
            if complaint:
                yield f"{path}: includes {header}: {complaint}"
        if is_torch_free(path):
            way = tree.way_to_torch(path)
            if way:
                yield f"{path}: must be free of libtorch, but includes {' -> '.join(way[1:])}"


def check_links(lines):
    """Targets of torch-free folders reach neither dtrain_torch nor a library of libtorch."""
    links = {words[0]: (words[1], words[2:]) for words in (line.split() for line in lines) if len(words) > 1}
    for target, (folder, _) in sorted(links.items()):
        if not is_torch_free(folder + "/x"):
            continue
        reached, ways = set(), [[target]]
        while ways:
            way = ways.pop()
            for library in links.get(way[-1], ("", []))[1]:
                library = re.sub(r"^\$<LINK_ONLY:(.*)>$", r"\1", library)
                if library in reached:
                    continue
                reached.add(library)
                if library == "dtrain_torch" or re.match(r"^(.*/lib)?(torch|c10)(_cpu)?(\.so.*)?$", library):
                    yield f"{folder}: target {target} must be free of libtorch, but links {' -> '.join(way[1:] + [library])}"
                ways.append(way + [library])


def check_artifacts(tree, build):
    """What the built program and plugins ask the dynamic linker for."""
    program = os.path.join(build, "bin", "dtrain")
    files = [program] if os.path.exists(program) else []
    kinds = {"strategy" if kind == "strategies" else kind.rstrip("s") for kind in TORCH_FREE_PLUGINS}
    for folder, _, names in os.walk(os.path.join(build, "lib")):
        files += [os.path.join(folder, n) for n in names if n.endswith(".so") and n.split("_")[0] in kinds]
    for file in sorted(files):
        output = subprocess.run(["readelf", "-d", file], capture_output=True, text=True, check=True).stdout
        for library in re.findall(r"\(NEEDED\).*\[(lib(?:torch|c10)[^\]]*)\]", output):
            yield f"{os.path.relpath(file, build)}: must be free of libtorch, but needs {library}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("root")
    parser.add_argument("--links")
    parser.add_argument("--build")
    arguments = parser.parse_args()
    tree = Tree(os.path.abspath(arguments.root))
    violations = list(check_sources(tree))
    if arguments.links:
        with open(arguments.links, encoding="utf-8") as file:
            violations += check_links(file.read().splitlines())
    if arguments.build:
        violations += check_artifacts(tree, arguments.build)
    for violation in violations:
        print(violation)
    print(f"{len(tree.text)} files, {len(violations)} violations")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
