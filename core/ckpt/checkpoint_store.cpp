// SPDX-License-Identifier: Apache-2.0
#include "core/ckpt/checkpoint_store.h"

#include <dtrain/error.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <random>

#include "core/base/fault.h"

namespace dtrain {
namespace {

constexpr std::string_view kStep = "step-";
constexpr std::string_view kPartial = ".partial-";
constexpr std::size_t kDigits = 9;

struct FolderName {
  std::int64_t step = 0;
  bool staging = false;
};

// Only names that this file makes: others in the folder are not ours.
std::optional<FolderName> parse_folder(std::string_view name) {
  if (!name.starts_with(kStep)) return std::nullopt;
  name.remove_prefix(kStep.size());
  FolderName out;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), out.step);
  const auto digits = static_cast<std::size_t>(end - name.data());
  if (error != std::errc() || out.step < 0 || digits < kDigits || (digits > kDigits && name[0] == '0'))
    return std::nullopt;
  name.remove_prefix(digits);
  out.staging = name.size() > kPartial.size() && name.starts_with(kPartial);
  return out.staging || name.empty() ? std::optional(out) : std::nullopt;
}

}  // namespace

std::string checkpoint_folder(std::int64_t step) {
  auto digits = std::to_string(step);
  if (digits.size() < kDigits) digits.insert(0, kDigits - digits.size(), '0');
  return std::string(kStep) + digits;
}

std::string staging_folder(std::int64_t step, const std::string& nonce) {
  return checkpoint_folder(step) + std::string(kPartial) + nonce;
}

std::string make_nonce() {
  std::random_device random;
  return hex64((std::uint64_t{random()} << 32) | random());
}

CheckpointStore::CheckpointStore(Store& store, const std::string& root)
    : store_(store), place_(root.empty() ? root : root + "/") {}

FileEntry CheckpointStore::write(std::int64_t step, const std::string& nonce, int rank,
                                 std::span<const TensorSlice> slices) {
  return write_shard(store_, staging_folder(step, nonce), rank, step, slices);
}

void CheckpointStore::commit(const std::string& nonce, Manifest manifest, std::span<const FileEntry> entries) {
  const auto step = manifest.step;
  const auto staging = staging_folder(step, nonce), folder = checkpoint_folder(step);
  add_files(manifest, entries);
  const auto text = to_json(manifest);
  fault::point("ckpt.manifest", 0, step);
  const auto object = store_.create(staging + "/" + std::string(kManifestName));
  object->write(std::as_bytes(std::span(text)));
  object->finish();
  if (store_.exists(folder + "/" + std::string(kManifestName))) {
    if (same_content(folder, staging)) return store_.remove(staging);
    store_.remove(folder);
  }
  fault::point("ckpt.publish.before", 0, step);
  store_.publish(staging, folder);
  fault::point("ckpt.publish.after", 0, step);
}

bool CheckpointStore::same_content(const std::string& folder, const std::string& staging) const {
  try {
    const Checkpoint old(store_, folder, place_);
    old.verify();
    return old.content_hash() == Checkpoint(store_, staging, place_).content_hash();
  } catch (const UserError&) {
    return false;  // damaged: worth less than the new one
  }
}

void CheckpointStore::discard(std::int64_t step, const std::string& nonce) {
  store_.remove(staging_folder(step, nonce));
}

std::vector<CheckpointInfo> CheckpointStore::list() const {
  std::map<std::string, CheckpointInfo> found;
  for (const auto& object : store_.list("")) {
    const auto slash = object.key.find('/');
    if (slash == std::string::npos) continue;
    const auto folder = object.key.substr(0, slash);
    const auto name = parse_folder(folder);
    if (!name) continue;
    auto& info = found.try_emplace(folder, CheckpointInfo{folder, name->step, false, 0}).first->second;
    info.bytes += object.size;
    if (!name->staging && object.key.substr(slash + 1) == kManifestName) info.complete = true;
  }
  std::vector<CheckpointInfo> out;
  for (auto& [folder, info] : found) out.push_back(std::move(info));
  std::ranges::stable_sort(out, {}, [](const auto& info) { return std::pair(info.step, !info.complete); });
  return out;
}

std::vector<std::string> CheckpointStore::clean_stale() {
  std::vector<std::string> removed;
  for (const auto& info : list()) {
    if (!parse_folder(info.folder)->staging) continue;
    store_.remove(info.folder);
    removed.push_back(info.folder);
  }
  return removed;
}

Checkpoint CheckpointStore::open(std::int64_t step) const {
  return {store_, checkpoint_folder(step), place_};
}

NewestCheckpoint CheckpointStore::newest_verified() const {
  constexpr int kTries = 100;  // each means that a writer removed what was being read, so it saved something newer
  for (int attempt = 0;; ++attempt) {
    NewestCheckpoint out;
    std::optional<RecoverableError> store_error;
    bool vanished = false;
    auto all = list();
    std::ranges::reverse(all);
    for (const auto& info : all) {
      if (!info.complete) {
        out.skipped.push_back({info.folder, info.step, "incomplete: the save did not end"});
        continue;
      }
      try {
        Checkpoint checkpoint(store_, info.folder, place_);
        checkpoint.verify();
        out.checkpoint.emplace(std::move(checkpoint));
        return out;
      } catch (const UserError& e) {
        out.skipped.push_back({info.folder, info.step, e.message()});
      } catch (const RecoverableError& e) {
        out.skipped.push_back({info.folder, info.step, e.what()});
        store_error = e;
      }
      vanished = vanished || !store_.exists(info.folder + "/" + std::string(kManifestName));
    }
    if (vanished && attempt < kTries) continue;  // what replaced them was published later than the list
    if (store_error) throw *store_error;
    return out;
  }
}

}  // namespace dtrain
