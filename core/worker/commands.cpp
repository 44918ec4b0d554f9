// SPDX-License-Identifier: Apache-2.0
#include "core/worker/commands.h"

#include <cstdio>
#include <filesystem>
#include <iostream>

#include <ATen/Parallel.h>
#include <nlohmann/json.hpp>

#include <dtrain/error.h>

#include "core/ckpt/checkpoint_store.h"
#include "core/train/evaluator.h"
#include "core/train/model_state.h"
#include "core/train/reader_feed.h"
#include "core/worker/resume.h"
#include "core/worker/session.h"

namespace dtrain {
namespace {

namespace fs = std::filesystem;

// A session whose model holds a checkpoint's weights, ready for forward passes.
class LoadedModel {
 public:
  LoadedModel(const std::string& plan_json, const std::string& target)
      : session_(plan_from_json(plan_json), [](std::string_view) {}), state_(session_.workshop.parameters(), {}) {
    at::set_num_threads(static_cast<int>(session_.plan.threads));
    const auto path = fs::absolute(target).lexically_normal();
    const bool is_checkpoint = fs::exists(path / kManifestName);
    const auto root = is_checkpoint ? path.parent_path() : path / "checkpoints";
    const auto access = open_checkpoints(session_.plan, session_.loader, root.string());
    if (is_checkpoint) {
      load(Checkpoint(*access.store, path.filename().string(), root.string() + "/"));
    } else {
      auto newest = access.checkpoints->newest_verified();
      if (!newest.checkpoint) {
        throw UserError(target + ": no checkpoint that verifies", "`dtrain ckpt ls " + target + "` shows what is there");
      }
      load(*newest.checkpoint);
    }
  }

  Session& session() { return session_; }
  std::int64_t step() const { return step_; }

 private:
  void load(const Checkpoint& checkpoint) {
    step_ = checkpoint.manifest().step;
    std::vector<TensorTarget> targets;
    for (const auto& piece : state_.pieces()) {
      const auto& tensor = state_.layout().tensors()[piece.tensor];
      const auto values = state_.arena().writable(0).subspan(tensor.offset, tensor.count);
      targets.push_back({.name = piece.name,
                         .type = DType::f32,
                         .shape = tensor.shape,
                         .offset = 0,
                         .count = static_cast<std::int64_t>(tensor.count),
                         .data = std::as_writable_bytes(values)});
      session_.workshop.parameters().bind(state_.entry_of(piece.tensor), values.data());
    }
    const std::string prefixes[] = {"model.", "buffer."};
    checkpoint.load(targets, prefixes);
  }

  Session session_;
  ModelState state_;
  std::int64_t step_ = 0;
};

}  // namespace

int run_eval(const std::string& plan_json, const EvalCommand& command) {
  LoadedModel loaded(plan_json, command.target);
  auto& session = loaded.session();
  const auto* split = session.data.eval.get();
  if (split == nullptr) {
    throw UserError("the recipe has no evaluation data", "add data.eval or data.eval_fraction");
  }
  const auto& plan = session.plan;
  Evaluator::Setup setup{.model = session.model.get(),
                         .loss = session.loss.get(),
                         .metrics = {},
                         .lanes = split->layout().lane_views(split->layout().step(0), 0, 1),
                         .total_lanes = static_cast<int>(plan.lanes),
                         .group = nullptr,
                         .open =
                             [&] {
                               return std::make_unique<ReaderFeed>(
                                   BatchReader::Setup{.source = split->source(plan.seed, 0),
                                                      .world = 1,
                                                      .loaders = static_cast<int>(plan.loaders),
                                                      .first_step = 0,
                                                      .end_step = 1},
                                   session.data.info, false);
                             },
                         .load_buffers = [] {}};  // the model sees the committed ones already
  for (const auto& [name, metric] : session.metrics) setup.metrics.emplace_back(name, metric.get());
  const auto values = Evaluator(std::move(setup)).run();

  if (command.json) {
    nlohmann::json metrics = nlohmann::json::object();
    for (const auto& [name, value] : values) metrics[name] = value;
    std::cout << nlohmann::json{{"step", loaded.step()}, {"samples", split->samples()}, {"metrics", metrics}}.dump() << '\n';
    return 0;
  }
  std::cout << "step " << loaded.step() << ", " << split->samples() << " samples\n";
  for (const auto& [name, value] : values) {
    char text[64];
    std::snprintf(text, sizeof(text), "%.6g", value);
    std::cout << "  " << name << "  " << text << '\n';
  }
  return 0;
}

int run_generate(const std::string& plan_json, const GenerateCommand& command) {
  LoadedModel loaded(plan_json, command.target);
  auto& session = loaded.session();
  const auto* tokenizer = session.data.tokenizer.get();
  if (tokenizer == nullptr || session.data.info.seq_len == 0) {
    throw UserError("the run trains no language model: its recipe has no tokenizer", "`dtrain eval` measures other models");
  }
  auto prompt = tokenizer->encode(command.prompt);
  if (prompt.empty()) throw UserError("--prompt is empty", "give the text to continue");
  std::cout << command.prompt << std::flush;
  generate(*session.model, session.data.info.seq_len, std::move(prompt), command.sampling, [&](std::int32_t token) {
    std::cout << tokenizer->decode({&token, 1}) << std::flush;
    return std::cout.good();
  });
  std::cout << '\n';
  return 0;
}

}  // namespace dtrain
