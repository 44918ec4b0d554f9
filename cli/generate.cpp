// SPDX-License-Identifier: Apache-2.0
//
// dtrain generate: text from a language model's checkpoint.
#include <cstdint>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "cli/model_verbs.h"
#include "cli/verbs.h"
#include "core/launch/runtime_library.h"

namespace dtrain::cli {

void add_generate(CLI::App& app, Action& action) {
  struct Options {
    std::string target;
    std::string prompt;
    std::int64_t tokens = 200;
    double temperature = 0.8;
    std::int64_t top_k = 0;
    std::uint64_t seed = 0;
  };
  auto* verb = app.add_subcommand("generate", "Continue a text with a language model's checkpoint");
  auto o = std::make_shared<Options>();
  verb->add_option("RUN_OR_CHECKPOINT", o->target, "A run directory (its newest checkpoint) or a checkpoint folder")->required();
  verb->add_option("--prompt", o->prompt, "The text to continue")->required();
  verb->add_option("--tokens", o->tokens, "Tokens to add")->check(CLI::Range(1, 1 << 20))->capture_default_str();
  verb->add_option("--temperature", o->temperature, "0: always the most likely token")
      ->check(CLI::Range(0.0, 100.0))
      ->capture_default_str();
  verb->add_option("--top-k", o->top_k, "Choose among the K most likely tokens; 0: among all")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  verb->add_option("--seed", o->seed, "The same seed gives the same text")->capture_default_str();
  verb->callback([&action, o] {
    action = [o] {
      const auto plan = stored_plan(o->target);
      using Entry =
          int (*)(const char*, const char*, const char*, std::int64_t, double, std::int64_t, std::uint64_t);
      return reinterpret_cast<Entry>(runtime_entry("dtrain_runtime_generate"))(
          plan.c_str(), o->target.c_str(), o->prompt.c_str(), o->tokens, o->temperature, o->top_k, o->seed);
    };
  });
}

}  // namespace dtrain::cli
