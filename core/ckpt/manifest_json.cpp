// SPDX-License-Identifier: Apache-2.0
#include <dtrain/error.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <set>

#include "core/base/hash.h"
#include "core/ckpt/json_fields.h"
#include "core/ckpt/manifest.h"
#include "core/ckpt/tensor_slice.h"

namespace dtrain {

namespace {

using json = nlohmann::json;
using ckpt::Fields;

constexpr std::string_view kChecksumMember = ",\"checksum\":\"";
constexpr std::size_t kTailBytes = kChecksumMember.size() + 64 + 3;  // member, digits, quote, brace, newline
constexpr std::int64_t kMaxChunkBytes = 64 << 20;

json to_value(const FileRecord& file) {
  auto checksums = json::array();
  for (const auto sum : file.checksums) checksums.push_back(hex64(sum));
  return {{"name", file.name},
          {"bytes", file.bytes},
          {"chunk_bytes", file.chunk_bytes},
          {"checksums", std::move(checksums)}};
}

// JSON has no NaN and no infinity.
json to_value(double number) {
  if (std::isfinite(number)) return number;
  return std::isnan(number) ? "nan" : number > 0 ? "inf" : "-inf";
}

double to_number(const json& value, const Fields& fields, const std::string& name) {
  if (value.is_number()) return value.get<double>();
  if (value == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (value == "inf") return std::numeric_limits<double>::infinity();
  if (value == "-inf") return -std::numeric_limits<double>::infinity();
  fields.fail("metric '" + name + "' is not a number");
}

// One segment of a store key, and none that leads elsewhere.
bool safe_name(std::string_view name) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '-';
  };
  return !name.empty() && name.front() != '.' && std::ranges::all_of(name, allowed);
}

FileRecord file_from(const json& value, std::string_view label) {
  const Fields fields(value, label, "a file");
  FileRecord file;
  file.name = fields.string("name");
  const Fields named(value, label, "file '" + file.name + "'");
  if (!safe_name(file.name)) named.fail("not a file name");
  file.bytes = static_cast<std::uint64_t>(named.integer("bytes"));
  const auto chunk = named.integer("chunk_bytes");
  if (chunk < 1 || chunk > kMaxChunkBytes)
    named.fail("chunk_bytes " + std::to_string(chunk) + " is not in 1 .. 67108864");
  file.chunk_bytes = static_cast<std::uint64_t>(chunk);
  for (const auto& sum : named.array("checksums")) {
    if (!sum.is_string() || sum.get_ref<const std::string&>().size() != 16) named.fail("a checksum is not 16 digits");
    const auto& text = sum.get_ref<const std::string&>();
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, 16);
    if (error != std::errc() || end != text.data() + text.size()) named.fail("a checksum is not hexadecimal");
    file.checksums.push_back(number);
  }
  const auto chunks = file.bytes / file.chunk_bytes + (file.bytes % file.chunk_bytes != 0 ? 1 : 0);
  if (file.checksums.size() != chunks) {
    named.fail(std::to_string(file.checksums.size()) + " checksums for " + std::to_string(chunks) + " chunks");
  }
  return file;
}

TensorRecord tensor_from(const json& value, const std::map<std::string, std::size_t>& files, std::string_view label) {
  TensorRecord tensor;
  tensor.name = Fields(value, label, "a tensor").string("name");
  const Fields fields(value, label, "tensor '" + tensor.name + "'");
  tensor.type = fields.dtype("dtype");
  tensor.shape = fields.integers("shape");
  for (const auto& item : fields.array("slices")) {
    const Fields slice(item, label, "tensor '" + tensor.name + "', a slice");
    const auto name = slice.string("file");
    const auto file = files.find(name);
    if (file == files.end()) slice.fail("file '" + name + "' is not in the list of files");
    tensor.slices.push_back({file->second, slice.integer("offset"), slice.integer("count")});
  }
  std::ranges::sort(tensor.slices, {}, [](const auto& s) { return std::pair(s.offset, s.count); });
  if (const auto problem = coverage_problem(tensor)) fields.fail(*problem);
  return tensor;
}

std::map<std::string, std::string> strings_from(const Fields& root, const char* key, std::string_view label) {
  const Fields fields(root.at(key), label, key);
  std::map<std::string, std::string> out;
  for (const auto& [name, value] : root.at(key).items()) {
    if (!value.is_string()) fields.fail("'" + name + "' is not a string");
    out[name] = value.get<std::string>();
  }
  return out;
}

int checked_format(const Fields& root, std::string_view label) {
  const auto format = root.integer("format");
  if (format > kManifestFormat) {
    throw UserError(std::string(label) + ": the checkpoint has format " + std::to_string(format) +
                        ", this dtrain knows formats up to " + std::to_string(kManifestFormat),
                    "use the dtrain that wrote it, or a newer one");
  }
  if (format < 1) root.fail("format " + std::to_string(format) + " has never existed");
  return static_cast<int>(format);
}

void check_checksum(std::string_view text, std::string_view label) {
  const auto at = text.size() < kTailBytes ? std::string_view::npos : text.size() - kTailBytes;
  const bool shaped =
      at != std::string_view::npos && text.substr(at).starts_with(kChecksumMember) && text.ends_with("\"}\n");
  if (!shaped) ckpt::damaged(label, "does not end with its checksum");
  const auto expected = text.substr(at + kChecksumMember.size(), 64);
  const auto found = sha256_hex(text.substr(0, at));
  if (found != expected) {
    ckpt::damaged(label, "SHA-256 of bytes 0.." + std::to_string(at) + " is " + found + ", the file says " +
                             std::string(expected));
  }
}

}  // namespace

std::string to_json(const FileEntry& entry) {
  auto slices = json::array();
  for (const auto& s : entry.slices) {
    slices.push_back(
        {{"name", s.name}, {"dtype", name_of(s.type)}, {"shape", s.shape}, {"offset", s.offset}, {"count", s.count}});
  }
  return json{{"file", to_value(entry.file)}, {"slices", std::move(slices)}}.dump();
}

FileEntry file_entry_from_json(std::string_view text) {
  constexpr std::string_view label = "a rank's report of its checkpoint file";
  const auto value = ckpt::parse_strict(text, label);
  const Fields root(value, label, "");
  FileEntry entry{.file = file_from(root.at("file"), label), .slices = {}};
  for (const auto& item : root.array("slices")) {
    const Fields slice(item, label, "a slice");
    entry.slices.push_back({slice.string("name"), slice.dtype("dtype"), slice.integers("shape"),
                            slice.integer("offset"), slice.integer("count")});
  }
  return entry;
}

std::string to_json(const Manifest& m) {
  using ordered = nlohmann::ordered_json;
  ordered root;
  root["format"] = m.format;
  root["step"] = m.step;
  root["updates"] = m.updates;
  root["created"] = m.created;
  root["dtrain_version"] = m.dtrain_version;
  root["identity"] = m.identity;
  root["trajectory"] = m.trajectory;
  root["bit_domain"] = m.bit_domain;
  root["plugins"] = ordered::array();
  for (const auto& p : m.plugins) {
    root["plugins"].push_back(ordered{{"name", p.name}, {"version", p.version}, {"build_id", p.build_id}});
  }
  root["metrics"] = ordered::object();
  for (const auto& [name, value] : m.metrics) root["metrics"][name] = ordered(to_value(value));
  root["ledger"] = ordered::parse(m.ledger);
  root["recipe"] = m.recipe;
  root["tensors"] = ordered::array();
  for (const auto& t : m.tensors) {
    auto slices = ordered::array();
    for (const auto& s : t.slices) {
      slices.push_back(ordered{{"file", m.files.at(s.file).name}, {"offset", s.offset}, {"count", s.count}});
    }
    root["tensors"].push_back(
        ordered{{"name", t.name}, {"dtype", name_of(t.type)}, {"shape", t.shape}, {"slices", std::move(slices)}});
  }
  root["files"] = ordered::array();
  for (const auto& f : m.files) root["files"].push_back(ordered(to_value(f)));
  auto text = root.dump();
  text.pop_back();
  return text + std::string(kChecksumMember) + sha256_hex(text) + "\"}\n";
}

Manifest manifest_from_json(std::string_view text, std::string_view label) {
  const auto value = ckpt::parse_strict(text, label);
  const Fields root(value, label, "");
  Manifest m;
  m.format = checked_format(root, label);
  check_checksum(text, label);
  m.step = root.integer("step");
  m.updates = root.integer("updates");
  m.created = root.string("created");
  m.dtrain_version = root.string("dtrain_version");
  m.identity = root.string("identity");
  m.trajectory = root.string("trajectory");
  m.recipe = root.string("recipe");
  m.ledger = root.at("ledger").dump();
  m.bit_domain = strings_from(root, "bit_domain", label);
  for (const auto& item : root.array("plugins")) {
    const Fields plugin(item, label, "a plugin");
    m.plugins.push_back({plugin.string("name"), plugin.string("version"), plugin.string("build_id")});
  }
  const Fields metrics(root.at("metrics"), label, "metrics");
  for (const auto& [name, number] : root.at("metrics").items()) m.metrics[name] = to_number(number, metrics, name);
  std::map<std::string, std::size_t> files;
  for (const auto& item : root.array("files")) {
    m.files.push_back(file_from(item, label));
    if (!files.emplace(m.files.back().name, m.files.size() - 1).second) {
      root.fail("file '" + m.files.back().name + "' is listed twice");
    }
  }
  for (const auto& item : root.array("tensors")) {
    auto tensor = tensor_from(item, files, label);
    if (!m.tensors.empty() && tensor.name <= m.tensors.back().name) {
      root.fail("tensor '" + tensor.name + "' is listed twice or out of order");
    }
    m.tensors.push_back(std::move(tensor));
  }
  return m;
}

}  // namespace dtrain
