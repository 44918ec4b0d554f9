// SPDX-License-Identifier: Apache-2.0
//
// manifest.json of a checkpoint: what it holds and where, and what made it. One JSON object on one line; its last
// member, "checksum", is the SHA-256 of all bytes before it, so that a damaged manifest is found as surely as a damaged
// tensor.
//
// Format 1 (readers accept every older number and refuse newer ones):
//   format, step, updates
//   tensors  [{name, dtype, shape, slices: [{file, offset, count}]}]   offset and count in elements of the flattened
//   tensor files    [{name, bytes, chunk_bytes, checksums}]                   XXH3-64 of each chunk, 16 hexadecimal
//   digits bit_domain {name: text}, recipe, identity, trajectory, plugins [{name, version, build_id}], ledger, metrics
//   {name: number}, created, dtrain_version, checksum
#pragma once

#include <dtrain/dtype.h>

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dtrain {

inline constexpr int kManifestFormat = 1;
inline constexpr std::string_view kManifestName = "manifest.json";

// A file of the checkpoint and what protects it.
struct FileRecord {
  std::string name;
  std::uint64_t bytes = 0;
  std::uint64_t chunk_bytes = 0;
  std::vector<std::uint64_t> checksums;  // ceil(bytes / chunk_bytes)
};

struct SliceRecord {
  std::size_t file = 0;  // index into Manifest::files
  std::int64_t offset = 0, count = 0;
};

struct TensorRecord {
  std::string name;
  DType type = DType::f32;
  std::vector<std::int64_t> shape;
  std::vector<SliceRecord> slices;  // by offset; they cover every element exactly once
};

struct PluginRecord {
  std::string name, version, build_id;
};

// What one rank wrote: its file and the slices in it. Sent to rank 0 as JSON.
struct FileEntry {
  struct Slice {
    std::string name;
    DType type = DType::f32;
    std::vector<std::int64_t> shape;
    std::int64_t offset = 0, count = 0;
  };
  FileRecord file;
  std::vector<Slice> slices;
};

struct Manifest {
  int format = kManifestFormat;
  std::int64_t step = 0, updates = 0;
  std::vector<TensorRecord> tensors;  // by name
  std::vector<FileRecord> files;
  std::map<std::string, std::string> bit_domain;
  std::string recipe;                // resolved, TOML
  std::string identity, trajectory;  // see Plan
  std::vector<PluginRecord> plugins;
  std::string ledger = "{}";              // JSON, the ledger's own business
  std::map<std::string, double> metrics;  // may be NaN or infinite
  std::string created;                    // UTC, "2026-01-31T12:00:00.000Z" (utc_now() of core/base/log.h)
  std::string dtrain_version;
};

// What is wrong with a tensor's slices (sorted by offset): an impossible shape, a gap, an overlap. Nothing: they cover
// it.
std::optional<std::string> coverage_problem(const TensorRecord& tensor);

// Puts the ranks' files into a manifest without files. InvariantError when the slices contradict each other or do not
// cover each tensor exactly once: the writers then did not agree on who writes what.
void add_files(Manifest& manifest, std::span<const FileEntry> entries);

std::string to_json(const FileEntry& entry);
FileEntry file_entry_from_json(std::string_view text);  // UserError on anything unexpected

std::string to_json(const Manifest& manifest);

// UserError that names `label`: not JSON, newer format (found and known), wrong checksum, missing or mistyped fields,
// tensors that are not covered exactly once, unsafe file names.
Manifest manifest_from_json(std::string_view text, std::string_view label);

// 16 lower-case hexadecimal digits.
std::string hex64(std::uint64_t value);

}  // namespace dtrain
