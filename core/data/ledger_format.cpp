// SPDX-License-Identifier: Apache-2.0
#include <dtrain/error.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "core/data/ledger.h"

namespace dtrain {
namespace {

using json = nlohmann::ordered_json;

constexpr int kFormat = 1;
constexpr std::string_view kKind = "dtrain-ledger";

std::string hex(std::uint64_t value) {
  std::string out(16, '0');
  for (std::size_t i = 16; i-- > 0; value >>= 4) out[i] = "0123456789abcdef"[value & 15];
  return out;
}

std::uint64_t from_hex(const std::string& text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (text.size() != 16 || error != std::errc() || end != text.data() + text.size()) {
    throw std::invalid_argument("not a hash: " + text);
  }
  return value;
}

[[noreturn]] void damaged(const std::string& where, const std::string& why) {
  throw UserError(where + ": not a line of a ledger: " + why,
                  "the file was damaged or edited; a run that resumes cuts it back to its checkpoint");
}

void check_header(const json& root, const std::string& where) {
  if (!root.is_object() || root.value("kind", "") != kKind) damaged(where, "no ledger header");
  const auto format = root.at("format").get<std::int64_t>();
  if (format > kFormat) {
    throw UserError(where + ": ledger format " + std::to_string(format) + "; this dtrain reads formats up to " +
                        std::to_string(kFormat),
                    "use the dtrain that wrote the run, or a newer one");
  }
  if (format < 1) damaged(where, "format " + std::to_string(format));
  for (const auto& [key, value] : root.items()) {
    constexpr std::array known = {
        "format", "kind", "sources", "seed", "shuffle", "drop_last", "global_batch_size", "micro_batch_size", "lanes"};
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      throw UserError(where + ": unknown key '" + key + "' in a ledger of format " + std::to_string(format),
                      "use the dtrain that wrote the run, or a newer one");
    }
  }
}

}  // namespace

std::string to_line(const LedgerHeader& header) {
  json sources = json::array();
  for (const auto& source : header.sources) sources.push_back({{"samples", source.samples}, {"weight", source.weight}});
  const json root = {{"format", kFormat},
                     {"kind", kKind},
                     {"sources", sources},
                     {"seed", header.seed},
                     {"shuffle", header.shuffle},
                     {"drop_last", header.drop_last},
                     {"global_batch_size", header.global_batch},
                     {"micro_batch_size", header.micro_batch},
                     {"lanes", header.lanes}};
  return root.dump() + "\n";
}

std::string to_line(const LedgerStep& step) {
  json micro_batches = json::array();
  for (const auto& m : step.micro_batches) {
    micro_batches.push_back(json::array({m.index, m.rank, m.generation, m.samples, hex(m.ids_hash)}));
  }
  return json{{"step", step.step}, {"micro_batches", micro_batches}}.dump() + "\n";
}

LedgerHeader ledger_header_from(std::string_view line, const std::string& where) {
  try {
    const auto root = json::parse(line);
    check_header(root, where);
    LedgerHeader header{.sources = {},
                        .seed = root.at("seed").get<std::uint64_t>(),
                        .shuffle = root.at("shuffle").get<bool>(),
                        .drop_last = root.at("drop_last").get<bool>(),
                        .global_batch = root.at("global_batch_size").get<std::int64_t>(),
                        .micro_batch = root.at("micro_batch_size").get<std::int64_t>(),
                        .lanes = root.at("lanes").get<std::int64_t>()};
    for (const auto& source : root.at("sources")) {
      header.sources.push_back(
          {.samples = source.at("samples").get<std::int64_t>(), .weight = source.at("weight").get<double>()});
    }
    if (header.sources.empty() || header.global_batch < 1 || header.micro_batch < 1 || header.lanes < 1) {
      damaged(where, "a size that is not positive");
    }
    return header;
  } catch (const json::exception& e) {
    damaged(where, e.what());
  }
}

LedgerStep ledger_step_from(std::string_view line, const std::string& where) {
  try {
    const auto root = json::parse(line);
    LedgerStep step{.step = root.at("step").get<std::int64_t>(), .micro_batches = {}};
    for (const auto& m : root.at("micro_batches")) {
      step.micro_batches.push_back({.index = m.at(0).get<std::int64_t>(),
                                    .rank = m.at(1).get<std::int64_t>(),
                                    .generation = m.at(2).get<std::uint64_t>(),
                                    .samples = m.at(3).get<std::int64_t>(),
                                    .ids_hash = from_hex(m.at(4).get<std::string>())});
    }
    return step;
  } catch (const json::exception& e) {
    damaged(where, e.what());
  } catch (const std::invalid_argument& e) {
    damaged(where, e.what());
  }
}

}  // namespace dtrain
