// SPDX-License-Identifier: Apache-2.0
#include "core/data/ledger_writer.h"

#include <dtrain/error.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "core/base/atomic_file.h"
#include "core/data/ledger_reader.h"

namespace dtrain {
namespace {

std::string difference(const LedgerHeader& old, const LedgerHeader& now) {
  std::string out;
  auto compare = [&out](const std::string& what, auto was, auto is) {
    if (was != is) out += "\n  " + what + ": was " + std::to_string(was) + ", is " + std::to_string(is);
  };
  compare("number of data sources", old.sources.size(), now.sources.size());
  for (std::size_t i = 0; i < std::min(old.sources.size(), now.sources.size()); ++i) {
    const auto name = "data source " + std::to_string(i + 1);
    compare("samples of " + name, old.sources[i].samples, now.sources[i].samples);
    compare("weight of " + name, old.sources[i].weight, now.sources[i].weight);
  }
  compare("run.seed", old.seed, now.seed);
  compare("data.shuffle", old.shuffle, now.shuffle);
  compare("data.drop_last", old.drop_last, now.drop_last);
  compare("train.global_batch_size", old.global_batch, now.global_batch);
  compare("train.micro_batch_size", old.micro_batch, now.micro_batch);
  compare("train.lanes", old.lanes, now.lanes);
  return out;
}

}  // namespace

LedgerWriter::LedgerWriter(const std::filesystem::path& run_dir, const LedgerHeader& header, std::int64_t step)
    : file_(ledger_file(run_dir)) {
  std::error_code error;
  std::filesystem::create_directories(file_.parent_path(), error);
  if (error) fail("create the folder of", error.value());
  if (step == 0 && !std::filesystem::exists(file_)) write_file_atomically(file_, to_line(header));

  const LedgerReader existing(file_);
  if (const auto changed = difference(existing.header(), header); !changed.empty()) {
    throw UserError("the order of data of this run would change:" + changed,
                    "restore the data and settings that the run began with, or start a new run directory");
  }
  fd_.reset(::open(file_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  if (!fd_.valid()) fail("open", errno);
  truncate_to(step);
}

void LedgerWriter::append(std::int64_t step, std::span<const LedgerEntry> micro_batches) {
  DTRAIN_CHECK(step == last_step_ + 1, "step " + std::to_string(step) + " after " + std::to_string(last_step_));
  const auto line = to_line(LedgerStep{.step = step, .micro_batches = {micro_batches.begin(), micro_batches.end()}});
  std::size_t done = 0;
  while (done < line.size()) {
    const auto n = ::write(fd_.get(), line.data() + done, line.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      const int error = errno;
      // Half a line must not be glued to the next one.
      if (done > 0 && ::ftruncate(fd_.get(), static_cast<off_t>(size_)) != 0) fail("mend", errno);
      fail("write " + std::to_string(line.size()) + " bytes to", error);
    }
    done += static_cast<std::size_t>(n);
  }
  size_ += line.size();
  last_step_ = step;
}

void LedgerWriter::sync() {
  if (::fdatasync(fd_.get()) != 0) fail("sync", errno);
}

void LedgerWriter::truncate_to(std::int64_t step) {
  LedgerReader reader(file_);
  std::int64_t last = 0;
  while (last < step) {
    const auto read = reader.next();
    if (!read) {
      throw UserError("the ledger " + file_.string() + " ends with step " + std::to_string(last) +
                          ", but the run goes on after step " + std::to_string(step),
                      "the file was damaged or replaced: restore it, or start a new run directory from the checkpoint",
                      {}, 1);
    }
    if (read->step != last + 1) {
      throw UserError("the ledger " + file_.string() + " has step " + std::to_string(read->step) + " after step " +
                          std::to_string(last),
                      "the file was damaged or edited: restore it, or start a new run directory from the checkpoint",
                      {}, 1);
    }
    last = read->step;
  }
  if (::ftruncate(fd_.get(), static_cast<off_t>(reader.offset())) != 0) fail("truncate", errno);
  size_ = reader.offset();
  last_step_ = step;
}

std::string LedgerWriter::position_json() const {
  return "{\"step\":" + std::to_string(last_step_) + ",\"bytes\":" + std::to_string(size_) + "}";
}

void LedgerWriter::fail(const std::string& operation, int error) const {
  throw UserError(
      "cannot " + operation + " the ledger " + file_.string() + ": " + std::generic_category().message(error),
      "free space or mend the file system, then resume the run", {}, 1);
}

}  // namespace dtrain
