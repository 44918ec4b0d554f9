// SPDX-License-Identifier: Apache-2.0
#include "core/observe/log_reader.h"

#include <dtrain/error.h>

#include <charconv>
#include <fstream>
#include <set>

namespace dtrain {
namespace {

namespace fs = std::filesystem;

std::optional<int> rank_of(const fs::path& file) {
  constexpr std::string_view kPrefix = "rank-";
  const auto stem = file.stem().string();
  if (file.extension() != ".log" || !stem.starts_with(kPrefix)) return std::nullopt;
  int rank = 0;
  const auto [end, error] = std::from_chars(stem.data() + kPrefix.size(), stem.data() + stem.size(), rank);
  if (error != std::errc() || end != stem.data() + stem.size()) return std::nullopt;
  return rank;
}

std::set<int> ranks_in(const fs::path& folder) {
  std::set<int> ranks;
  std::error_code error;
  for (const auto& file : fs::directory_iterator(folder, error)) {
    if (const auto rank = rank_of(file.path())) ranks.insert(*rank);
  }
  return ranks;
}

fs::path file_of(const fs::path& folder, int rank) {
  return folder / ("rank-" + std::to_string(rank) + ".log");
}

// From `offset` to the last newline; moves `offset`.
std::string whole_lines_from(const fs::path& file, std::uintmax_t& offset) {
  std::ifstream in(file, std::ios::binary);
  in.seekg(static_cast<std::streamoff>(offset));
  std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  const auto end = text.rfind('\n');
  text.resize(end == std::string::npos ? 0 : end + 1);
  offset += text.size();
  return text;
}

std::string tagged(std::string_view text, int rank) {
  const auto tag = "[rank " + std::to_string(rank) + "] ";
  std::string out;
  while (!text.empty()) {
    const auto end = text.find('\n') + 1;
    out += tag;
    out += text.substr(0, end);
    text.remove_prefix(end);
  }
  return out;
}

}  // namespace

LogReader::LogReader(fs::path run_dir, std::optional<int> rank) : folder_(std::move(run_dir) / "logs"), rank_(rank) {
  const auto ranks = ranks_in(folder_);
  if (ranks.empty())
    throw UserError("no logs of ranks in " + folder_.string(), "name a run directory, or a run of dtrain ps");
  if (rank_ && !ranks.contains(*rank_)) {
    throw UserError("no log of rank " + std::to_string(*rank_) + " in " + folder_.string(),
                    "there are ranks 0 to " + std::to_string(*ranks.rbegin()));
  }
}

std::string LogReader::read_new() {
  if (rank_) return whole_lines_from(file_of(folder_, *rank_), offsets_[*rank_]);
  std::string out;
  for (const int rank : ranks_in(folder_))
    out += tagged(whole_lines_from(file_of(folder_, rank), offsets_[rank]), rank);
  return out;
}

}  // namespace dtrain
