// SPDX-License-Identifier: Apache-2.0
//
// A ComponentSource without plugins: components with options much like the real ones, declared the way plugins declare
// them.
#pragma once

#include <dtrain/schema.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/plugin/note.h"
#include "core/recipe/component_source.h"

namespace dtrain::testing {

template <class Options>
std::vector<OptionSpec> options_of() {
  Options options;
  Schema schema;
  options.describe(schema);
  return decode_schema(schema.encoded());
}

struct GptOptions {
  std::int64_t num_layers = 4, hidden_size = 256, num_heads = 8;
  double dropout = 0;
  bool tied_head = true;
  void describe(Schema& s) {
    s.identity("num_layers", num_layers, range(1, 512), "residual blocks");
    s.identity("hidden_size", hidden_size, range(8, 65536), "features per token");
    s.identity("num_heads", num_heads, range(1, 1024), "attention heads");
    s.trajectory("dropout", dropout, range(0.0, 0.99), "drop probability");
    s.identity("tied_head", tied_head, "share the head's weights with the embedding");
  }
};

struct MlpOptions {
  std::vector<std::int64_t> hidden_sizes = {64};
  void describe(Schema& s) { s.identity("hidden_sizes", hidden_sizes, range(1, 1 << 20), "features of each layer"); }
};

struct TextOptions {
  std::vector<std::string> path;
  void describe(Schema& s) { s.identity("path", path, required().path(), "files, globs or folders"); }
};

struct SyntheticOptions {
  std::int64_t samples = 1024;
  double delay = 0;
  std::int64_t cache = 0;
  void describe(Schema& s) {
    s.identity("samples", samples, at_least(1), "samples");
    s.operational("delay", delay, at_least(0).unit("s"), "pause before each sample");
    s.operational("cache", cache, at_least(0).unit("bytes"), "memory for samples");
  }
};

struct AdamwOptions {
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  void describe(Schema& s) {
    s.trajectory("beta1", beta1, range(0.0, 0.999999), "decay rate of the mean");
    s.trajectory("beta2", beta2, range(0.0, 0.999999), "decay rate of the mean square");
    s.trajectory("epsilon", epsilon, above(0), "added to the root");
  }
};

struct SgdOptions {
  double momentum = 0;
  bool nesterov = false;
  void describe(Schema& s) {
    s.trajectory("momentum", momentum, range(0.0, 1.0), "momentum");
    s.trajectory("nesterov", nesterov, "Nesterov's variant");
  }
};

struct CosineOptions {
  double min_ratio = 0;
  void describe(Schema& s) { s.trajectory("min_ratio", min_ratio, range(0.0, 1.0), "lowest factor"); }
};

struct DdpOptions {
  double bucket = 26214400;
  void describe(Schema& s) {
    s.operational("bucket", bucket, above(0).unit("bytes"), "gradients that travel together");
  }
};

struct GlooOptions {
  std::string interface;
  void describe(Schema& s) { s.operational("interface", interface, "network interface"); }
};

class FakeComponents final : public ComponentSource {
 public:
  FakeComponents() {
    plugin_.path = "/plugins/all.so";
    plugin_.name = "all";
    plugin_.version = "1";
    plugin_.build_id = "00ff";
    add("model", "gpt", options_of<GptOptions>());
    add("model", "mlp", options_of<MlpOptions>());
    add("loss", "cross_entropy", {});
    add("loss", "mse", {});
    add("tokenizer", "bytes", {});
    add("data", "text", options_of<TextOptions>());
    add("data", "synthetic", options_of<SyntheticOptions>());
    add("optimizer", "adamw", options_of<AdamwOptions>());
    add("optimizer", "sgd", options_of<SgdOptions>());
    add("schedule", "constant", {});
    add("schedule", "cosine", options_of<CosineOptions>());
    for (const auto* name : {"accuracy", "loss", "perplexity"}) add("metric", name, {});
    add("strategy", "ddp", options_of<DdpOptions>());
    add("strategy", "single", {});
    add("comm", "gloo", options_of<GlooOptions>());
    add("store", "local", {});
  }

  void add(std::string kind, std::string name, std::vector<OptionSpec> options) {
    plugin_.components.push_back({std::move(kind), std::move(name), "tag", std::move(options)});
  }
  void remove(std::string_view kind, std::string_view name) {
    std::erase_if(plugin_.components, [&](const ComponentInfo& c) { return c.kind == kind && c.name == name; });
  }

  std::vector<CatalogEntry> of_kind(std::string_view kind) const override {
    std::vector<CatalogEntry> out;
    for (const auto& component : plugin_.components) {
      if (component.kind == kind) out.push_back({&plugin_, &component});
    }
    return out;
  }
  std::optional<CatalogEntry> find(std::string_view kind, std::string_view name) const override {
    for (const auto& entry : of_kind(kind)) {
      if (entry.component->name == name) return entry;
    }
    return std::nullopt;
  }
  std::vector<std::string> searched() const override { return {"/plugins"}; }

 private:
  PluginInfo plugin_;
};

}  // namespace dtrain::testing
