// SPDX-License-Identifier: Apache-2.0
#include "core/data/ledger_reader.h"

#include <dtrain/error.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace dtrain {

LedgerReader::LedgerReader(std::filesystem::path file) : file_(std::move(file)), in_(file_, std::ios::binary) {
  if (!in_) {
    throw UserError("cannot open the ledger " + file_.string() + ": " + std::generic_category().message(errno),
                    "name the folder of a run that has trained at least one step");
  }
  const auto first = line();
  if (!first) throw UserError(file_.string() + ": the ledger has no header", "the file was damaged or edited");
  header_ = ledger_header_from(*first, where());
}

std::optional<LedgerStep> LedgerReader::next() {
  const auto text = line();
  if (!text) return std::nullopt;
  return ledger_step_from(*text, where());
}

std::optional<std::string> LedgerReader::line() {
  std::string text;
  if (!std::getline(in_, text)) return std::nullopt;
  if (in_.eof()) {
    torn_ = true;
    return std::nullopt;
  }
  ++line_number_;
  offset_ += text.size() + 1;
  return text;
}

}  // namespace dtrain
