#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Each rule of architecture.py finds its own violation, and nothing in a tree without one."""
import os
import tempfile
import unittest

import architecture

HEAD = "// SPDX-License-Identifier: Apache-2.0\n"
GOOD = {
    "core/include/dtrain/model.h": "#include <ATen/ATen.h>\n#include <dtrain/error.h>\n",
    "core/include/dtrain/error.h": "#include <string>\n",
    "core/include/dtrain/torch_compat.h": "#if TORCH_VERSION_MAJOR >= 2\n#endif\n",
    "core/base/log.h": "",
    "core/comm/ring.cpp": '#include "core/base/log.h"\n#include <dtrain/error.h>\n',
    "core/nn/linear.cpp": "#include <torch/torch.h>\n#include <dtrain/model.h>\n",
    "core/worker/worker.cpp": '#include "core/comm/ring.h"\n#include "core/train/step.h"\n',
    "cli/main.cpp": '#include "core/base/log.h"\n',
    "plugins/models/mlp/mlp.cpp": '#include <dtrain/model.h>\n#include "layers.h"\n',
    "plugins/models/mlp/layers.h": "",
    "plugins/stores/local/local.cpp": "#include <dtrain/error.h>\n",
}


def violations(changes):
    with tempfile.TemporaryDirectory() as root:
        for path, text in {**GOOD, **changes}.items():
            os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                file.write(text[1:] if text.startswith("!") else HEAD + text)
        return list(architecture.check_sources(architecture.Tree(root)))


class Sources(unittest.TestCase):
    def expect(self, changes, *messages):
        self.assertEqual(violations(changes), list(messages))

    def test_a_good_tree_has_no_violation(self):
        self.expect({})

    def test_core_does_not_know_cli(self):
        self.expect({"core/plan/plan.cpp": '#include "cli/verbs.h"\n', "cli/verbs.h": ""},
                    "core/plan/plan.cpp: includes cli/verbs.h: core/ does not know cli/")

    def test_plugins_see_the_sdk_alone(self):
        self.expect({"plugins/stores/local/local.cpp": '#include "core/base/log.h"\n'},
                    "plugins/stores/local/local.cpp: includes core/base/log.h: a plugin sees the SDK alone")

    def test_plugins_do_not_see_each_other(self):
        self.expect({"plugins/models/gpt/gpt.cpp": '#include "plugins/models/mlp/layers.h"\n'},
                    "plugins/models/gpt/gpt.cpp: includes plugins/models/mlp/layers.h: nothing includes from plugins/")

    def test_nothing_includes_plugins(self):
        self.expect({"core/nn/linear.cpp": '#include "plugins/models/mlp/layers.h"\n'},
                    "core/nn/linear.cpp: includes plugins/models/mlp/layers.h: nothing includes from plugins/")

    def test_order_of_folders(self):
        self.expect({"core/base/log.h": '#include "core/plan/plan.h"\n'},
                    "core/base/log.h: includes core/plan/plan.h: core/base may use nothing")
        self.expect({"core/recipe/a.cpp": '#include "core/plan/plan.h"\n'},
                    "core/recipe/a.cpp: includes core/plan/plan.h: core/recipe may use base, plugin")
        self.expect({"core/nn/linear.cpp": '#include "core/train/step.h"\n'},
                    "core/nn/linear.cpp: includes core/train/step.h: core/nn may use base, plan, plugin, recipe")
        self.expect({"core/state/a.cpp": '#include "core/comm/ring.h"\n'},
                    "core/state/a.cpp: includes core/comm/ring.h: core/state may use base, plan, plugin, recipe")

    def test_relative_includes_are_resolved(self):
        self.expect({"core/base/a.cpp": '#include "../comm/ring.h"\n', "core/comm/ring.h": ""},
                    "core/base/a.cpp: includes ../comm/ring.h: core/base may use nothing")

    def test_a_new_folder_needs_a_place(self):
        self.expect({"core/misc/a.cpp": '#include "core/base/log.h"\n'},
                    "core/misc/a.cpp: includes core/base/log.h: core/misc has no place in the order of folders (architecture.py)")

    def test_the_sdk_does_not_know_what_is_behind_it(self):
        self.expect({"core/include/dtrain/error.h": '#include "core/base/log.h"\n'},
                    "core/include/dtrain/error.h: includes core/base/log.h: the SDK does not know what is behind it")

    def test_the_command_line_does_not_use_folders_with_libtorch(self):
        self.expect({"cli/main.cpp": '#include "core/train/step.h"\n', "core/train/step.h": ""},
                    "cli/main.cpp: includes core/train/step.h: "
                    "cli/ may use core/{base,ckpt,comm,data,launch,observe,plan,plugin,recipe,state}")

    def test_libtorch_behind_another_header(self):
        self.expect({"core/comm/ring.cpp": "#include <dtrain/model.h>\n"},
                    "core/comm/ring.cpp: must be free of libtorch, but includes core/include/dtrain/model.h -> ATen/ATen.h")
        self.expect({"plugins/stores/local/local.cpp": "#include <c10/util/Half.h>\n"},
                    "plugins/stores/local/local.cpp: must be free of libtorch, but includes c10/util/Half.h")

    def test_text_in_raw_strings_includes_nothing(self):
        self.expect({"cli/main.cpp": 'auto text = R"cpp(\n#include <torch/torch.h>\n)cpp";\nauto other = R"(\n#include <ATen/ATen.h>\n)";\n'})
        self.expect({"cli/main.cpp": 'auto text = R"(a)";\n#include <torch/torch.h>\nauto other = R"(b)";\n'},
                    "cli/main.cpp: must be free of libtorch, but includes torch/torch.h")

    def test_version_of_libtorch(self):
        self.expect({"core/nn/linear.cpp": "#if TORCH_VERSION_MAJOR > 1\n#endif\n"},
                    "core/nn/linear.cpp: tests the version of libtorch, which only torch_compat.h may")

    def test_licence_line(self):
        for path in ("core/nn/new.cpp", "cmake/New.cmake", "tests/x/CMakeLists.txt", "packaging/run.sh", "packaging/run"):
            self.expect({path: "!#!/bin/sh\n"}, f"{path}: no line 'SPDX-License-Identifier: Apache-2.0' at the top")


class Links(unittest.TestCase):
    def test_a_torch_free_target_reaches_libtorch(self):
        lines = ["dtrain_base core/base Threads::Threads", "dtrain_comm core/comm dtrain_base $<LINK_ONLY:dtrain_nn>",
                 "dtrain_nn core/nn dtrain_torch", "model_mlp plugins/models/mlp dtrain_torch", "dtrain cli dtrain_comm"]
        self.assertEqual(list(architecture.check_links(lines)), [
            "cli: target dtrain must be free of libtorch, but links dtrain_comm -> dtrain_nn -> dtrain_torch",
            "core/comm: target dtrain_comm must be free of libtorch, but links dtrain_nn -> dtrain_torch"])

    def test_libraries_by_path(self):
        lines = ["store_s3 plugins/stores/s3 /usr/lib/libtorch_cpu.so", "store_b plugins/stores/b /usr/lib/libtorchvision.so"]
        self.assertEqual(list(architecture.check_links(lines)), [
            "plugins/stores/s3: target store_s3 must be free of libtorch, but links /usr/lib/libtorch_cpu.so"])


if __name__ == "__main__":
    unittest.main()
