// SPDX-License-Identifier: Apache-2.0
//
// What the runtime does besides training: verbs that need a model. Each runs in the calling process on one rank and prints to
// stdout. UserError for everything that is wrong with the checkpoint or the options.
#pragma once

#include <cstdint>
#include <string>

#include "core/infer/generator.h"

namespace dtrain {

struct EvalCommand {
  std::string target;  // run directory or checkpoint folder
  bool json = false;
};

struct GenerateCommand {
  std::string target;
  std::string prompt;
  SamplingOptions sampling;
};

// Evaluates the newest checkpoint that verifies on the evaluation data of its own recipe: the same values as in the run.
int run_eval(const std::string& plan_json, const EvalCommand& command);

// Continues a prompt and prints prompt and text as it comes.
int run_generate(const std::string& plan_json, const GenerateCommand& command);

}  // namespace dtrain
