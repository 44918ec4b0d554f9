// SPDX-License-Identifier: Apache-2.0
//
// dtrain ckpt ls|show|verify|hash|prune RUN_OR_CHECKPOINT
#include <dtrain/error.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>

#include "cli/ckpt_place.h"
#include "cli/verbs.h"
#include "core/ckpt/checkpoint_store.h"
#include "core/ckpt/tensor_slice.h"

namespace dtrain::cli {
namespace {

using ordered = nlohmann::ordered_json;

struct Arguments {
  std::string path;
  bool json = false;
  Retention retention;
};

void print(const ordered& object) {
  std::cout << object.dump() << '\n';
}

void warn_about(const std::vector<SkippedCheckpoint>& skipped) {
  for (const auto& s : skipped) std::cerr << "dtrain: warning: " << s.folder << " passed over: " << s.reason << '\n';
}

// The checkpoint that was named, or the run's newest; it has been verified.
Checkpoint verified(const CheckpointPlace& place) {
  if (place.single) {
    Checkpoint checkpoint(*place.store, "", place.root + "/");
    checkpoint.verify();
    return checkpoint;
  }
  auto newest = CheckpointStore(*place.store, place.root).newest_verified();
  warn_about(newest.skipped);
  if (newest.checkpoint) return std::move(*newest.checkpoint);
  throw UserError("no checkpoint in " + place.root + (newest.skipped.empty() ? "" : " verifies"),
                  newest.skipped.empty() ? "the run has not saved yet; see [checkpoint] every" : "");
}

ordered metrics_of(const Manifest& manifest) {
  auto out = ordered::object();
  for (const auto& [name, value] : manifest.metrics) out[name] = value;
  return out;
}

// One line of `ls`. Damage is shown, not fatal.
ordered line_of(const CheckpointPlace& place, const CheckpointInfo& info) {
  ordered line = {{"folder", info.folder}, {"step", info.step}, {"complete", info.complete}, {"bytes", info.bytes}};
  if (!info.complete) return line;
  try {
    const Checkpoint checkpoint(*place.store, info.folder, place.root + "/");
    line["updates"] = checkpoint.manifest().updates;
    line["created"] = checkpoint.manifest().created;
    line["metrics"] = metrics_of(checkpoint.manifest());
  } catch (const UserError& e) {
    line["damage"] = e.message();
  }
  return line;
}

std::string size_text(std::uint64_t bytes) {
  constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(units); ++unit) value /= 1024;
  char text[32];
  std::snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.1f %s", value, units[unit]);
  return text;
}

int list(const Arguments& args) {
  const auto place = open_place(args.path);
  if (place.single) throw UserError(args.path + " is one checkpoint", "`dtrain ckpt show` describes it");
  auto lines = ordered::array();
  for (const auto& info : CheckpointStore(*place.store, place.root).list()) lines.push_back(line_of(place, info));
  if (args.json) {
    print({{"root", place.root}, {"checkpoints", lines}});
    return 0;
  }
  for (const auto& line : lines) {
    std::cout << line["folder"].get<std::string>() << "  " << size_text(line["bytes"].get<std::uint64_t>());
    if (line.contains("damage")) {
      std::cout << "  damaged: " << line["damage"].get<std::string>();
    } else if (!line["complete"].get<bool>()) {
      std::cout << "  incomplete";
    } else {
      std::cout << "  " << line["created"].get<std::string>();
      for (const auto& [name, value] : line["metrics"].items()) std::cout << "  " << name << '=' << value;
    }
    std::cout << '\n';
  }
  if (lines.empty()) std::cerr << "no checkpoints in " << place.root << '\n';
  return 0;
}

int show(const Arguments& args) {
  const auto place = open_place(args.path);
  const auto checkpoint = verified(place);
  const auto& m = checkpoint.manifest();
  if (args.json) {
    std::cout << to_json(m);
    return 0;
  }
  const auto row = [](std::string_view name, const std::string& value) {
    std::cout << name << std::string(name.size() < 16 ? 16 - name.size() : 1, ' ') << value << '\n';
  };
  row("checkpoint", place.single ? place.root : place.root + "/" + checkpoint.folder());
  row("step", std::to_string(m.step));
  row("updates", std::to_string(m.updates));
  row("created", m.created + " by dtrain " + m.dtrain_version);
  row("size", size_text(checkpoint.bytes()) + " in " + std::to_string(m.files.size()) + " files");
  row("identity", m.identity);
  row("trajectory", m.trajectory);
  for (const auto& [name, value] : m.bit_domain) row("bit domain", name + " = " + value);
  for (const auto& plugin : m.plugins) row("plugin", plugin.name + " " + plugin.version + " (" + plugin.build_id + ")");
  for (const auto& [name, value] : metrics_of(m).items()) row("metric", name + " = " + value.dump());
  row("tensors", std::to_string(m.tensors.size()));
  for (const auto& tensor : m.tensors)
    std::cout << "  " << tensor.name << "  " << describe(tensor.type, tensor.shape) << '\n';
  return 0;
}

int verify(const Arguments& args) {
  const auto place = open_place(args.path);
  if (place.single) {
    verified(place);
    if (args.json) {
      print({{"root", place.root}, {"ok", true}});
    } else {
      std::cout << place.root << "  ok\n";
    }
    return 0;
  }
  const CheckpointStore checkpoints(*place.store, place.root);
  auto lines = ordered::array();
  int good = 0, bad = 0;
  for (const auto& info : checkpoints.list()) {
    std::string problem;
    if (!info.complete) {
      problem = "incomplete: the save did not end";
    } else {
      try {
        Checkpoint(*place.store, info.folder, place.root + "/").verify();
        ++good;
      } catch (const UserError& e) {
        problem = "damaged: " + e.message();
        ++bad;
      }
    }
    lines.push_back({{"folder", info.folder}, {"step", info.step}, {"ok", problem.empty()}, {"problem", problem}});
    if (!args.json) std::cout << info.folder << "  " << (problem.empty() ? "ok" : problem) << '\n';
  }
  if (args.json) print({{"root", place.root}, {"ok", good > 0 && bad == 0}, {"checkpoints", lines}});
  if (bad > 0) throw UserError(std::to_string(bad) + " of " + std::to_string(good + bad) + " checkpoints are damaged");
  if (good == 0) throw UserError("no complete checkpoint in " + place.root);
  return 0;
}

int hash(const Arguments& args) {
  const auto place = open_place(args.path);  // outlives what is opened in it
  const auto checkpoint = verified(place);
  const auto text = checkpoint.content_hash();
  if (args.json) {
    print({{"hash", text}, {"step", checkpoint.manifest().step}});
  } else {
    std::cout << text << '\n';
  }
  return 0;
}

int prune(const Arguments& args) {
  const auto place = open_place(args.path);
  if (place.single) throw UserError(args.path + " is one checkpoint", "name the run, or remove the folder");
  const auto report = CheckpointStore(*place.store, place.root).prune(args.retention);
  warn_about(report.damaged);
  if (args.json) {
    print({{"root", place.root}, {"removed", report.removed}, {"kept", report.kept}});
    return 0;
  }
  for (const auto& folder : report.removed) std::cout << "removed " << folder << '\n';
  for (const auto& folder : report.kept) std::cout << "kept    " << folder << '\n';
  if (report.kept.empty()) throw UserError("no checkpoint in " + place.root + " verifies: nothing was removed");
  return 0;
}

}  // namespace

void add_ckpt(CLI::App& app, Action& action) {
  auto* const group = app.add_subcommand("ckpt", "list, inspect, verify, hash and prune checkpoints");
  group->require_subcommand(1);
  const auto args = std::make_shared<Arguments>();
  const auto add = [&](const char* name, const char* description, int (*run)(const Arguments&)) {
    auto* const verb = group->add_subcommand(name, description);
    verb->add_option("RUN_OR_CHECKPOINT", args->path, "a run directory or one checkpoint's folder")->required();
    verb->add_flag("--json", args->json, "print one JSON object");
    verb->callback([&action, args, run] {
      action = [args, run] {
        try {
          return run(*args);
        } catch (const RecoverableError& e) {  // nobody here can wait for the store to come back
          throw UserError(e.what(), "", {}, 1);
        }
      };
    });
    return verb;
  };
  add("ls", "list a run's checkpoints", list);
  add("show", "describe the newest checkpoint that verifies, or the one named", show);
  add("verify", "read everything and compare it with its checksums", verify);
  add("hash", "print the SHA-256 of the weights, optimizer state, step and updates of the newest that verifies", hash);
  auto* const verb = add("prune", "remove old checkpoints; never the newest that verifies", prune);
  verb->add_option("--keep-last", args->retention.keep_last, "newest ones to keep")
      ->required()
      ->check(CLI::NonNegativeNumber);
  verb->add_option("--keep-best", args->retention.keep_best, "best ones to keep besides")
      ->check(CLI::NonNegativeNumber);
  verb->add_option("--metric", args->retention.metric, "what --keep-best compares")->capture_default_str();
  verb->add_flag("--higher-is-better", args->retention.higher_is_better, "for --metric");
}

}  // namespace dtrain::cli
