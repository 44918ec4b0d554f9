// SPDX-License-Identifier: Apache-2.0
#include "core/train/checkpointer.h"

#include <chrono>

#include <dtrain/error.h>

#include "core/base/log.h"
#include "core/comm/exchange.h"

namespace dtrain {
namespace {

constexpr char kOk = '+';
constexpr char kFailed = '-';

std::vector<std::byte> bytes_of(const std::string& text) {
  const auto view = std::as_bytes(std::span(text));
  return {view.begin(), view.end()};
}

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Every rank's text, in order of rank.
std::vector<std::string> gather(Communicator* group, const std::string& mine) {
  if (group == nullptr) return {mine};
  std::vector<std::string> all;
  for (const auto& message : all_gather_bytes(*group, bytes_of(mine))) all.push_back(text_of(message));
  return all;
}

}  // namespace

Checkpointer::Checkpointer(Setup setup) : s_(std::move(setup)) {
  // Contiguous shares of about equal size, whole tensors: any reader then finds each tensor in one file.
  std::size_t total = 0;
  for (const auto& piece : s_.state->pieces()) total += s_.state->layout().tensors()[piece.tensor].count;
  std::size_t before = 0;
  for (const auto& piece : s_.state->pieces()) {
    const auto count = s_.state->layout().tensors()[piece.tensor].count;
    const auto middle = before + count / 2;
    owners_.push_back(total == 0 ? 0 : static_cast<int>(middle * static_cast<std::size_t>(s_.world) / (total + 1)));
    before += count;
  }
}

std::vector<TensorSlice> Checkpointer::my_slices() const {
  std::vector<TensorSlice> slices;
  for (std::size_t i = 0; i < owners_.size(); ++i) {
    if (owners_[i] != s_.rank) continue;
    const auto& piece = s_.state->pieces()[i];
    const auto& tensor = s_.state->layout().tensors()[piece.tensor];
    slices.push_back({.name = piece.name,
                      .type = DType::f32,
                      .shape = tensor.shape,
                      .offset = 0,
                      .count = static_cast<std::int64_t>(tensor.count),
                      .data = std::as_bytes(s_.state->arena().readable(piece.region).subspan(tensor.offset, tensor.count))});
  }
  return slices;
}

SaveOutcome Checkpointer::save(const TrainPosition& position, const MetricValues& metrics, const std::string& ledger) {
  const auto start = std::chrono::steady_clock::now();
  SaveOutcome outcome{.folder = checkpoint_folder(position.step)};
  const auto nonce = gather(s_.group, s_.rank == 0 ? make_nonce() : "").front();

  std::string mine;
  try {
    mine = kOk + to_json(s_.store->write(position.step, nonce, s_.rank, my_slices()));
  } catch (const RecoverableError& e) {
    if (e.kind() != RecoverableError::Kind::store_unavailable) throw;
    mine = kFailed + std::string(e.what());
  }
  const auto written = gather(s_.group, mine);
  std::vector<FileEntry> entries;
  for (std::size_t rank = 0; rank < written.size(); ++rank) {
    if (written[rank].front() == kOk) {
      entries.push_back(file_entry_from_json(written[rank].substr(1)));
    } else if (outcome.error.empty()) {
      outcome.error = "rank " + std::to_string(rank) + ": " + written[rank].substr(1);
    }
  }

  std::string published(1, kOk);
  if (s_.rank == 0) {
    try {
      if (outcome.error.empty()) {
        Manifest manifest = s_.manifest;
        manifest.step = position.step;
        manifest.updates = position.updates;
        manifest.ledger = ledger;
        manifest.created = utc_now();
        for (const auto& [name, value] : metrics) manifest.metrics[name] = value;
        s_.store->commit(nonce, std::move(manifest), entries);
        outcome.removed = s_.store->prune(s_.retention).removed;
      }
    } catch (const RecoverableError& e) {
      if (e.kind() != RecoverableError::Kind::store_unavailable) throw;
      published = kFailed + std::string(e.what());
    }
    if (!outcome.error.empty() || published.front() == kFailed) discard(position.step, nonce);
  }
  published = gather(s_.group, published).front();
  if (published.front() == kFailed && outcome.error.empty()) outcome.error = "rank 0: " + published.substr(1);
  outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return outcome;
}

// What a failed save leaves is of no use; when the store fails here too, the next start removes it.
void Checkpointer::discard(std::int64_t step, const std::string& nonce) {
  try {
    s_.store->discard(step, nonce);
  } catch (const RecoverableError&) {
  }
}

void Checkpointer::load(const Checkpoint& checkpoint) {
  std::vector<TensorTarget> targets;
  for (const auto& piece : s_.state->pieces()) {
    const auto& tensor = s_.state->layout().tensors()[piece.tensor];
    targets.push_back({.name = piece.name,
                       .type = DType::f32,
                       .shape = tensor.shape,
                       .offset = 0,
                       .count = static_cast<std::int64_t>(tensor.count),
                       .data = std::as_writable_bytes(
                           s_.state->arena().writable(piece.region).subspan(tensor.offset, tensor.count))});
  }
  checkpoint.load(targets);
}

}  // namespace dtrain
