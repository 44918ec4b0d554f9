// SPDX-License-Identifier: Apache-2.0
//
// One complete checkpoint, opened for reading.
#pragma once

#include <dtrain/store.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/ckpt/manifest.h"
#include "core/ckpt/safetensors.h"
#include "core/ckpt/tensor_slice.h"
#include "core/ckpt/verified_reader.h"

namespace dtrain {

// Any thread; each call opens its own files. `store` outlives it. Failures of all calls: UserError naming file and what
// is wrong (damage), RecoverableError (the store).
class Checkpoint {
 public:
  // Reads and checks the manifest below `folder` (a key prefix; empty: the store's root is the checkpoint). `place` is
  // put before keys in messages, so that they are paths: empty, or the store's root with a slash.
  Checkpoint(const Store& store, std::string folder, std::string place);

  const std::string& folder() const { return folder_; }
  const Manifest& manifest() const { return manifest_; }
  std::uint64_t bytes() const;  // of all its files but the manifest

  // Reads everything: sizes, every checksum, every header, and that headers and manifest agree.
  void verify() const;

  // Fills `targets` from whatever files hold their elements, checking the checksums of what it reads. The targets name
  // every tensor of the checkpoint whose name begins with one of `prefixes` ({""}: all), with its dtype and whole
  // shape, and take any ranges of it, overlapping or none (count 0). UserError when names are missing or too many or
  // dtypes or shapes differ (up to ten of each kind and the totals): nothing is written then. After any other failure
  // the targets are undefined.
  void load(std::span<const TensorTarget> targets, std::span<const std::string> prefixes) const;
  void load(std::span<const TensorTarget> targets) const;

  // SHA-256 of what is trained: the tensors named model.*, buffer.* and optimizer.* by name (name, dtype, shape,
  // bytes), then step and updates. Integers are 64-bit little endian; strings follow their length. Independent of how
  // many ranks wrote it.
  std::string content_hash() const;

 private:
  class Files;

  std::string key(std::string_view file) const;
  std::string label(std::string_view file) const { return place_ + key(file); }
  std::unique_ptr<VerifiedReader> open(const FileRecord& file) const;

  const Store& store_;
  std::string folder_;
  std::string place_;
  Manifest manifest_;
};

}  // namespace dtrain
