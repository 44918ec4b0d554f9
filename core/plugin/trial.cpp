// SPDX-License-Identifier: Apache-2.0
#include "core/plugin/trial.h"

#include <dtrain/comm.h>
#include <dtrain/data.h>
#include <dtrain/optimizer.h>
#include <dtrain/schedule.h>
#include <dtrain/store.h>
#include <dtrain/tokenizer.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <system_error>

namespace dtrain {
namespace {

void require(bool condition, const std::string& promise) {
  if (!condition) throw std::runtime_error("breaks its contract: " + promise);
}

std::string try_schedule(const PluginLoader& loader, const ComponentInfo& component) {
  const auto schedule = loader.create<ScheduleKind>(component.name, {.total_updates = 100, .warmup = 10}, {});
  for (std::int64_t update = 10; update < 100; ++update) {
    const double factor = schedule->factor(update);
    require(std::isfinite(factor) && factor >= 0, "factor(" + std::to_string(update) + ") is " +
                                                      std::to_string(factor) +
                                                      ", expected a finite value of at least 0");
  }
  return {};
}

std::string try_tokenizer(const PluginLoader& loader, const ComponentInfo& component) {
  const auto tokenizer = loader.create<TokenizerKind>(component.name, {}, {});
  require(tokenizer->vocab_size() > 0, "vocab_size() is " + std::to_string(tokenizer->vocab_size()));
  const auto tokens = tokenizer->encode("To be, or not to be.\n");
  for (const auto token : tokens) {
    require(token >= 0 && token < tokenizer->vocab_size(), "encode() gave token " + std::to_string(token) +
                                                               ", vocab_size() is " +
                                                               std::to_string(tokenizer->vocab_size()));
  }
  tokenizer->decode(tokens);
  try {
    tokenizer->decode(std::array{static_cast<std::int32_t>(-1)});
  } catch (const UserError&) {
    return {};
  }
  throw std::runtime_error("breaks its contract: decode() of token -1 throws no UserError");
}

// One update of three elements, whose results must be finite and, but for the parameters and slots, unchanged.
std::string try_optimizer(const PluginLoader& loader, const ComponentInfo& component) {
  const auto optimizer = loader.create<OptimizerKind>(component.name, {}, {});
  const std::array<std::int64_t, 1> shape = {3};
  std::array<float, 3> param = {1.0F, -2.0F, 0.5F};
  const std::array<float, 3> grad = {0.5F, 0.0F, -1.0F};
  std::vector<std::array<float, 3>> memory(optimizer->slots().size());
  std::vector<float*> slots;
  for (auto& slot : memory) slots.push_back(slot.data());
  const TensorRange range = {
      .name = "probe", .shape = shape, .offset = 0, .param = param, .grad = grad, .slots = slots};
  optimizer->update({.lr = 0.1, .weight_decay = 0.01, .grad_scale = 1, .update = 1}, range);
  for (const float value : param) require(std::isfinite(value), "update() made a parameter " + std::to_string(value));
  for (const auto& slot : memory) {
    for (const float value : slot) require(std::isfinite(value), "update() made a slot " + std::to_string(value));
  }
  return {};
}

std::string try_data(const PluginLoader& loader, const ComponentInfo& component) {
  const DataContext context = {.split = Split::train, .seed = 1, .seq_len = 16};
  const auto data = loader.create<DataKind>(component.name, context, {});
  require(data->size() >= 0, "size() is " + std::to_string(data->size()));
  if (data->size() == 0) return {};
  const auto& fields = data->info().fields;
  require(!fields.empty(), "a sample has no fields");
  std::vector<std::vector<double>> memory;  // doubles for their alignment
  std::vector<std::span<std::byte>> out;
  for (const auto& field : fields) {
    memory.emplace_back(field.bytes() / sizeof(double) + 1);
    out.push_back(std::as_writable_bytes(std::span(memory.back())).first(field.bytes()));
  }
  for (const auto index : {std::int64_t{0}, data->size() - 1}) {
    rng::Stream draws(1, static_cast<std::uint64_t>(index), 0);
    data->read(index, draws, out);
  }
  return {};
}

class TrialFolder {
 public:
  TrialFolder() {
    auto name = (std::filesystem::temp_directory_path() / "dtrain-trial-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::system_error(errno, std::generic_category(), name);
    path_ = name;
  }
  ~TrialFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

std::string try_store(const PluginLoader& loader, const ComponentInfo& component) {
  const TrialFolder folder;
  const auto store = loader.create<StoreKind>(component.name, {.root = (folder.path() / "root").string()}, {});
  const std::string text = "dtrain";
  const auto bytes = std::as_bytes(std::span(text));
  {
    const auto writer = store->create("staging/a");
    writer->write(bytes);
    require(!store->exists("staging/a"), "an object exists before finish()");
    writer->finish();
  }
  store->publish("staging", "final");
  require(store->exists("final/a") && !store->exists("staging/a"), "publish() does not move what it publishes");
  std::string back(text.size(), '\0');
  store->open("final/a")->read(0, std::as_writable_bytes(std::span(back)));
  require(back == text, "what is read is not what was written");
  store->remove("final");
  require(store->list("").empty(), "remove() leaves objects behind");
  return {};
}

class LocalRendezvous final : public Rendezvous {
 public:
  void set(const std::string& key, std::span<const std::byte> value) override {
    values_[key].assign(value.begin(), value.end());
  }
  std::vector<std::byte> get(const std::string& key, std::chrono::milliseconds) override {
    const auto it = values_.find(key);
    if (it == values_.end()) throw RecoverableError(RecoverableError::Kind::timeout, "nobody has set " + key);
    return it->second;
  }

 private:
  std::map<std::string, std::vector<std::byte>> values_;
};

std::string try_comm(const PluginLoader& loader, const ComponentInfo& component) {
  LocalRendezvous rendezvous;
  const CommContext context = {.rank = 0, .size = 1, .generation = 1, .rendezvous = &rendezvous};
  const auto group = loader.create<CommKind>(component.name, context, {});
  require(group->rank() == 0 && group->size() == 1, "a group of one has another rank or size");
  group->abort();
  group->abort();
  return {};
}

const std::map<std::string_view, Trial>& trials() {
  static const std::map<std::string_view, Trial> table = {
      {"comm", try_comm},         {"data", try_data},   {"optimizer", try_optimizer},
      {"schedule", try_schedule}, {"store", try_store}, {"tokenizer", try_tokenizer},
  };
  return table;
}

}  // namespace

Trial trial_of(std::string_view kind) {
  const auto it = trials().find(kind);
  return it == trials().end() ? Trial() : it->second;
}

std::string trial_obstacle(std::string_view kind) {
  return kind == "strategy" ? "a strategy needs a running job"
                            : "a " + std::string(kind) + " needs libtorch and a running job";
}

}  // namespace dtrain
