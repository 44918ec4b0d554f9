// SPDX-License-Identifier: Apache-2.0
//
// dtrain eval: the metrics of a checkpoint.
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "cli/model_verbs.h"
#include "cli/verbs.h"
#include "core/launch/runtime_library.h"

namespace dtrain::cli {

void add_eval(CLI::App& app, Action& action) {
  struct Options {
    std::string target;
    bool json = false;
  };
  auto* verb = app.add_subcommand("eval", "Evaluate a checkpoint on its recipe's evaluation data");
  auto o = std::make_shared<Options>();
  verb->add_option("RUN_OR_CHECKPOINT", o->target, "A run directory (its newest checkpoint) or a checkpoint folder")->required();
  verb->add_flag("--json", o->json, "Print one JSON object");
  verb->callback([&action, o] {
    action = [o] {
      const auto plan = stored_plan(o->target);
      using Entry = int (*)(const char*, const char*, int);
      return reinterpret_cast<Entry>(runtime_entry("dtrain_runtime_eval"))(plan.c_str(), o->target.c_str(), o->json ? 1 : 0);
    };
  });
}

}  // namespace dtrain::cli
