// SPDX-License-Identifier: Apache-2.0
#include "core/ckpt/checkpoint.h"

#include <dtrain/error.h>

#include <algorithm>
#include <array>
#include <map>

#include "core/base/hash.h"
#include "core/ckpt/json_fields.h"
#include "core/ckpt/target_check.h"

namespace dtrain {
namespace {

constexpr std::uint64_t kMaxManifestBytes = std::uint64_t{1} << 30;

bool trained(std::string_view name) {
  return name.starts_with("model.") || name.starts_with("buffer.") || name.starts_with("optimizer.");
}

void update(Sha256& hash, std::uint64_t number) {
  std::array<std::byte, 8> bytes;
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(number >> (8 * i));
  hash.update(bytes);
}

void update(Sha256& hash, std::string_view text) {
  update(hash, text.size());
  hash.update(text);
}

}  // namespace

// The files of a checkpoint, opened and their headers read when first needed.
class Checkpoint::Files {
 public:
  explicit Files(const Checkpoint& checkpoint) : checkpoint_(checkpoint), open_(checkpoint.manifest_.files.size()) {}

  const VerifiedReader& reader(std::size_t file) { return *at(file).reader; }

  // Bytes of a slice within its file. UserError when the file's header does not have it as the manifest says.
  std::uint64_t begin_of(const TensorRecord& tensor, const SliceRecord& slice) {
    auto& file = at(slice.file);
    const auto key = slice_key(tensor.name, slice.offset, slice.count, *element_count(tensor.shape, tensor.type));
    const auto it = file.entries.find(key);
    const auto shape = key == tensor.name ? tensor.shape : std::vector<std::int64_t>{slice.count};
    if (it == file.entries.end()) ckpt::damaged(label(slice.file), "tensor '" + key + "' of the manifest is missing");
    const auto& entry = *it->second;
    if (entry.type != tensor.type || entry.shape != shape) {
      ckpt::damaged(label(slice.file), "tensor '" + key + "' is " + describe(entry.type, entry.shape) +
                                           ", the manifest says " + describe(tensor.type, shape));
    }
    return entry.begin;
  }

 private:
  struct Open {
    std::unique_ptr<VerifiedReader> reader;
    SafetensorsHeader header;
    std::map<std::string_view, const SafetensorsEntry*> entries;
  };

  std::string label(std::size_t file) const { return checkpoint_.label(checkpoint_.manifest_.files[file].name); }

  Open& at(std::size_t file) {
    auto& open = open_.at(file);
    if (open.reader == nullptr) {
      open.reader = checkpoint_.open(checkpoint_.manifest_.files[file]);
      open.header = read_safetensors_header(*open.reader, label(file));
      for (const auto& entry : open.header.tensors) open.entries.emplace(entry.name, &entry);
    }
    return open;
  }

  const Checkpoint& checkpoint_;
  std::vector<Open> open_;
};

Checkpoint::Checkpoint(const Store& store, std::string folder, std::string place)
    : store_(store), folder_(std::move(folder)), place_(std::move(place)) {
  const auto name = key(kManifestName);
  if (!store_.exists(name)) {
    throw UserError(place_ + folder_ + " is not a complete checkpoint: it has no " + std::string(kManifestName),
                    "`dtrain ckpt ls` lists the complete ones");
  }
  const auto file = store_.open(name);
  if (file->size() > kMaxManifestBytes) ckpt::damaged(place_ + name, "has " + std::to_string(file->size()) + " bytes");
  std::string text(file->size(), '\0');
  file->read(0, std::as_writable_bytes(std::span(text)));
  manifest_ = manifest_from_json(text, place_ + name);
}

std::string Checkpoint::key(std::string_view file) const {
  return folder_.empty() ? std::string(file) : folder_ + "/" + std::string(file);
}

std::uint64_t Checkpoint::bytes() const {
  std::uint64_t sum = 0;
  for (const auto& file : manifest_.files) sum += file.bytes;
  return sum;
}

std::unique_ptr<VerifiedReader> Checkpoint::open(const FileRecord& file) const {
  const auto object = key(file.name);
  if (!store_.exists(object)) ckpt::damaged(place_ + object, "the file is missing");
  return std::make_unique<VerifiedReader>(store_.open(object), file, place_ + object);
}

void Checkpoint::verify() const {
  Files files(*this);
  for (std::size_t i = 0; i < manifest_.files.size(); ++i) files.reader(i).verify_all();
  for (const auto& tensor : manifest_.tensors) {
    for (const auto& slice : tensor.slices) files.begin_of(tensor, slice);
  }
}

void Checkpoint::load(std::span<const TensorTarget> targets) const {
  const std::string all;
  load(targets, std::span(&all, 1));
}

void Checkpoint::load(std::span<const TensorTarget> targets, std::span<const std::string> prefixes) const {
  ckpt::check_targets(manifest_, targets, prefixes, place_ + folder_);
  struct Copy {
    std::size_t file;
    std::uint64_t begin;
    std::span<std::byte> out;
  };
  std::vector<Copy> copies;
  Files files(*this);
  for (const auto& target : targets) {
    const auto& tensor = *std::ranges::lower_bound(manifest_.tensors, target.name, {}, &TensorRecord::name);
    const auto width = static_cast<std::int64_t>(size_of(target.type));
    for (const auto& slice : tensor.slices) {
      const auto first = std::max(slice.offset, target.offset);
      const auto last = std::min(slice.offset + slice.count, target.offset + target.count);
      if (first >= last) continue;
      const auto out = target.data.subspan(static_cast<std::size_t>((first - target.offset) * width),
                                           static_cast<std::size_t>((last - first) * width));
      copies.push_back({slice.file,
                        files.begin_of(tensor, slice) + static_cast<std::uint64_t>((first - slice.offset) * width),
                        out});
    }
  }
  // In the order of the files' bytes, so that each chunk is read once.
  std::ranges::sort(copies, {}, [](const Copy& copy) { return std::pair(copy.file, copy.begin); });
  for (const auto& copy : copies) files.reader(copy.file).read(copy.begin, copy.out);
}

std::string Checkpoint::content_hash() const {
  Sha256 hash;
  Files files(*this);
  std::vector<std::byte> buffer(1 << 20);
  for (const auto& tensor : manifest_.tensors) {
    if (!trained(tensor.name)) continue;
    update(hash, tensor.name);
    update(hash, name_of(tensor.type));
    update(hash, tensor.shape.size());
    for (const auto dimension : tensor.shape) update(hash, static_cast<std::uint64_t>(dimension));
    for (const auto& slice : tensor.slices) {
      auto at = files.begin_of(tensor, slice);
      for (auto rest = static_cast<std::uint64_t>(slice.count) * size_of(tensor.type); rest > 0;) {
        const auto piece = std::span(buffer).first(std::min<std::uint64_t>(rest, buffer.size()));
        files.reader(slice.file).read(at, piece);
        hash.update(piece);
        at += piece.size();
        rest -= piece.size();
      }
    }
  }
  update(hash, static_cast<std::uint64_t>(manifest_.step));
  update(hash, static_cast<std::uint64_t>(manifest_.updates));
  return hash.hex();
}

}  // namespace dtrain
