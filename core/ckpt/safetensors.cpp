// SPDX-License-Identifier: Apache-2.0
#include "core/ckpt/safetensors.h"

#include <dtrain/error.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <set>
#include <tuple>

#include "core/ckpt/json_fields.h"

namespace dtrain {
namespace {

using json = nlohmann::json;

constexpr std::uint64_t kSizeBytes = 8;
constexpr std::string_view kMetadata = "__metadata__";

std::string place_of(std::string_view name) {
  return "tensor '" + std::string(name) + "'";
}

SafetensorsEntry parse_entry(const std::string& name, const json& value, std::uint64_t data_begin,
                             std::uint64_t file_size, std::string_view label) {
  const ckpt::Fields fields(value, label, place_of(name));
  SafetensorsEntry entry{.name = name, .type = fields.dtype("dtype"), .shape = fields.integers("shape")};
  const auto range = fields.integers("data_offsets");
  if (range.size() != 2) fields.fail("'data_offsets' is not a pair");
  const auto begin = static_cast<std::uint64_t>(range[0]), end = static_cast<std::uint64_t>(range[1]);
  const auto text = std::to_string(begin) + ".." + std::to_string(end);
  if (begin > end) fields.fail("data_offsets " + text + " run backwards");
  const auto available = file_size - data_begin;
  if (end > available) {
    fields.fail("data_offsets " + text + " reach beyond the file, which holds " + std::to_string(available) +
                " bytes of data");
  }
  const auto elements = element_count(entry.shape, entry.type);
  const auto expected = elements ? static_cast<std::uint64_t>(*elements) * size_of(entry.type) : 0;
  if (!elements || expected != end - begin) {
    fields.fail("data_offsets " + text + " span " + std::to_string(end - begin) + " bytes, " +
                describe(entry.type, entry.shape) + " needs " + (elements ? std::to_string(expected) : "too many"));
  }
  entry.begin = data_begin + begin;
  entry.end = data_begin + end;
  return entry;
}

void check_tiling(const std::vector<SafetensorsEntry>& sorted, std::uint64_t data_begin, std::uint64_t file_size,
                  std::string_view label) {
  auto cursor = data_begin;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const auto& entry = sorted[i];
    if (entry.begin < cursor) {
      ckpt::damaged(label, place_of(entry.name) + ": overlaps tensor '" + sorted[i - 1].name + "'");
    }
    if (entry.begin > cursor) {
      ckpt::damaged(
          label, place_of(entry.name) + ": a gap of " + std::to_string(entry.begin - cursor) + " bytes lies before it");
    }
    cursor = entry.end;
  }
  if (cursor != file_size) {
    ckpt::damaged(label, std::to_string(file_size - cursor) + " bytes after the last tensor belong to none");
  }
}

}  // namespace

const SafetensorsEntry* SafetensorsHeader::find(std::string_view name) const {
  const auto it = std::ranges::find(tensors, name, &SafetensorsEntry::name);
  return it == tensors.end() ? nullptr : &*it;
}

SafetensorsHeader parse_safetensors_header(std::string_view text, std::uint64_t file_size, std::string_view label) {
  const auto data_begin = kSizeBytes + text.size();
  DTRAIN_CHECK(data_begin <= file_size);
  if (!text.starts_with('{')) ckpt::damaged(label, "the safetensors header does not begin with '{'");
  const auto root = ckpt::parse_strict(text, label);
  SafetensorsHeader header;
  for (const auto& [name, value] : root.items()) {
    if (name == kMetadata) {
      const ckpt::Fields fields(value, label, "'__metadata__'");
      for (const auto& [key, entry] : value.items()) header.metadata[key] = fields.string(key.c_str());
    } else {
      header.tensors.push_back(parse_entry(name, value, data_begin, file_size, label));
    }
  }
  std::ranges::sort(header.tensors, {}, [](const auto& e) { return std::pair(e.begin, e.end); });
  check_tiling(header.tensors, data_begin, file_size, label);
  return header;
}

SafetensorsHeader read_safetensors_header(const ObjectReader& file, std::string_view label) {
  const auto size = file.size();
  if (size < kSizeBytes) {
    ckpt::damaged(label,
                  "not a safetensors file: it has " + std::to_string(size) + " bytes, the header size alone takes 8");
  }
  std::array<std::byte, kSizeBytes> raw;
  file.read(0, raw);
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < raw.size(); ++i) length |= std::to_integer<std::uint64_t>(raw[i]) << (8 * i);
  if (length > kMaxSafetensorsHeader || length > size - kSizeBytes) {
    ckpt::damaged(label, "safetensors header of " + std::to_string(length) + " bytes (the file has " +
                             std::to_string(size - kSizeBytes) + " after the size, the limit is " +
                             std::to_string(kMaxSafetensorsHeader) + ")");
  }
  std::string text(length, '\0');
  file.read(kSizeBytes, std::as_writable_bytes(std::span(text)));
  return parse_safetensors_header(text, size, label);
}

SafetensorsLayout lay_out_safetensors(std::span<const TensorSlice> slices,
                                      const std::map<std::string, std::string>& metadata) {
  SafetensorsLayout layout;
  layout.order.resize(slices.size());
  std::iota(layout.order.begin(), layout.order.end(), std::size_t{0});
  std::ranges::sort(layout.order, [&](std::size_t a, std::size_t b) {
    const auto wide_a = size_of(slices[a].type), wide_b = size_of(slices[b].type);
    if (wide_a != wide_b) return wide_a > wide_b;
    return std::tie(slices[a].name, slices[a].offset) < std::tie(slices[b].name, slices[b].offset);
  });
  // Ordered, so that the header lists tensors as the file holds them.
  nlohmann::ordered_json header;
  header[std::string(kMetadata)] = metadata;
  std::set<std::string> names;
  std::uint64_t cursor = 0;
  for (const auto index : layout.order) {
    const auto& slice = slices[index];
    const auto elements = element_count(slice.shape, slice.type);
    DTRAIN_CHECK(elements && slice.offset >= 0 && slice.count >= 0 && slice.offset + slice.count <= *elements,
                 slice.name);
    DTRAIN_CHECK(slice.data.size() == static_cast<std::size_t>(slice.count) * size_of(slice.type), slice.name);
    const auto key = slice_key(slice.name, slice.offset, slice.count, *elements);
    DTRAIN_CHECK(key != kMetadata && names.insert(key).second, "twice in one file: " + key);
    const bool whole = key == slice.name;
    header[key] = {{"dtype", name_of(slice.type)},
                   {"shape", whole ? slice.shape : std::vector<std::int64_t>{slice.count}},
                   {"data_offsets", {cursor, cursor + slice.data.size()}}};
    cursor += slice.data.size();
  }
  auto text = header.dump();
  text.append((64 - (kSizeBytes + text.size()) % 64) % 64, ' ');
  for (std::uint64_t i = 0; i < kSizeBytes; ++i) layout.prefix.push_back(static_cast<char>(text.size() >> (8 * i)));
  layout.prefix += text;
  layout.bytes = layout.prefix.size() + cursor;
  return layout;
}

}  // namespace dtrain
