// SPDX-License-Identifier: Apache-2.0
#include "core/train/commit.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <dtrain/error.h>

#include "core/comm/exchange.h"

namespace dtrain {
namespace {

// Head of a rank's message; records and partial norms follow.
struct Head {
  std::int64_t step;
  std::uint64_t records;
  std::uint64_t norms;
  std::uint8_t stop;
  std::uint8_t padding[7];
};

template <class T>
void append(std::vector<std::byte>& out, const T* values, std::size_t count) {
  const auto* bytes = reinterpret_cast<const std::byte*>(values);
  out.insert(out.end(), bytes, bytes + count * sizeof(T));
}

// Reads values off the front of a message.
class Cursor {
 public:
  explicit Cursor(std::span<const std::byte> bytes) : bytes_(bytes) {}
  template <class T>
  void read(T* values, std::size_t count) {
    DTRAIN_CHECK(bytes_.size() >= count * sizeof(T), "truncated commit message");
    std::memcpy(values, bytes_.data(), count * sizeof(T));
    bytes_ = bytes_.subspan(count * sizeof(T));
  }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace

// Eight running sums, folded in a fixed order: wide enough for two AVX registers, and without fused multiply-add, so that the
// plain and the AVX2 version give the same bits.
[[gnu::target_clones("default", "avx2")]] double sum_of_squares(std::span<const float> values) {
  constexpr std::size_t kWidth = 8;
  double sums[kWidth] = {};
  const float* v = values.data();
  const std::size_t whole = values.size() / kWidth * kWidth;
  for (std::size_t i = 0; i < whole; i += kWidth) {
    for (std::size_t j = 0; j < kWidth; ++j) sums[j] += static_cast<double>(v[i + j]) * static_cast<double>(v[i + j]);
  }
  for (std::size_t i = whole; i < values.size(); ++i) sums[i - whole] += static_cast<double>(v[i]) * static_cast<double>(v[i]);
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

void StepCommit::begin_step(std::int64_t step) {
  step_ = step;
  mine_.clear();
}

std::vector<std::byte> StepCommit::encode() const {
  std::vector<double> norms;
  const auto blocks = s_.layout->blocks();
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (s_.block_owners[i] != static_cast<std::size_t>(s_.rank)) continue;
    norms.push_back(sum_of_squares(s_.reduced.subspan(blocks[i].begin, blocks[i].end - blocks[i].begin)));
  }
  const Head head{step_, mine_.size(), norms.size(), static_cast<std::uint8_t>(s_.stop_requested() ? 1 : 0), {}};
  std::vector<std::byte> message;
  message.reserve(sizeof(head) + mine_.size() * sizeof(MicroBatchRecord) + norms.size() * sizeof(double));
  append(message, &head, 1);
  append(message, mine_.data(), mine_.size());
  append(message, norms.data(), norms.size());
  return message;
}

void StepCommit::commit() {
  if (s_.world == 1) {
    const std::vector<std::byte> only[] = {encode()};
    fold(only);
  } else {
    const auto mine = encode();
    fold(all_gather_bytes(*s_.group, mine));
  }
}

void StepCommit::fold(std::span<const std::vector<std::byte>> messages) {
  outcome_ = {};
  std::vector<std::vector<double>> norms(messages.size());
  for (std::size_t rank = 0; rank < messages.size(); ++rank) {
    Cursor cursor(messages[rank]);
    Head head{};
    cursor.read(&head, 1);
    DTRAIN_CHECK(head.step == step_, "rank " + std::to_string(rank) + " commits step " + std::to_string(head.step) +
                                         ", this rank step " + std::to_string(step_));
    const auto before = outcome_.records.size();
    outcome_.records.resize(before + head.records);
    cursor.read(outcome_.records.data() + before, head.records);
    norms[rank].resize(head.norms);
    cursor.read(norms[rank].data(), head.norms);
    outcome_.stop_requested = outcome_.stop_requested || head.stop != 0;
  }
  std::sort(outcome_.records.begin(), outcome_.records.end(),
            [](const MicroBatchRecord& a, const MicroBatchRecord& b) { return a.index < b.index; });
  double loss_sum = 0;
  for (const auto& record : outcome_.records) {
    loss_sum += record.loss_sum;
    outcome_.weight += record.weight;
    outcome_.samples += record.samples;
  }

  // Partial norms back into block order; buffers take part in the finite check but not in the norm.
  std::vector<double> partial(s_.layout->blocks().size());
  std::vector<std::size_t> next(messages.size());
  double total = 0;
  bool finite = std::isfinite(loss_sum) && std::isfinite(outcome_.weight);
  for (std::size_t i = 0; i < partial.size(); ++i) {
    partial[i] = norms[s_.block_owners[i]].at(next[s_.block_owners[i]]++);
    finite = finite && std::isfinite(partial[i]);
    if (i < s_.layout->num_param_blocks()) total += partial[i];
  }

  if (outcome_.weight > 0) {
    outcome_.loss = loss_sum / outcome_.weight;
    outcome_.grad_norm = std::sqrt(total) / outcome_.weight;
  }
  if (!finite) {
    explain_non_finite(partial);
    ++consecutive_skips_;
    const bool give_up = s_.policy == NonFinite::stop || consecutive_skips_ > s_.max_consecutive_skips;
    outcome_.verdict = give_up ? Verdict::diverged : Verdict::skip_non_finite;
    return;
  }
  if (outcome_.weight <= 0) {
    outcome_.verdict = Verdict::skip_empty;
    return;
  }
  consecutive_skips_ = 0;
  const bool clips = s_.max_grad_norm > 0 && outcome_.grad_norm > s_.max_grad_norm;
  outcome_.grad_scale =
      static_cast<float>((clips ? s_.max_grad_norm / outcome_.grad_norm : 1.0) / outcome_.weight);
}

// Names the first bad micro-batch or tensor and the ranks it came from. Costs a second exchange, on bad steps only: all ranks
// see the same bad bytes and so all take part.
void StepCommit::explain_non_finite(std::span<const double> norms) {
  std::string text;
  for (const auto& record : outcome_.records) {
    if (std::isfinite(record.loss_sum) && std::isfinite(record.weight)) continue;
    text = "the loss of micro-batch " + std::to_string(record.index) + " on rank " + std::to_string(record.rank) + " is " +
           std::to_string(record.loss_sum);
    break;
  }
  for (std::size_t i = 0; i < norms.size(); ++i) {
    if (std::isfinite(norms[i])) continue;
    const auto& block = s_.layout->blocks()[i];
    const auto& tensor = s_.layout->tensors()[block.tensor];
    const bool gradient = block.tensor < s_.layout->num_params();
    if (!text.empty()) text += "; ";
    text += "the first tensor with a non-finite " + std::string(gradient ? "gradient" : "value") + " is " + tensor.name;
    std::vector<std::byte> mine(1, std::byte{s_.is_own_gradient_bad(block.begin, block.end) ? std::uint8_t{1} : std::uint8_t{0}});
    const auto flags = s_.world == 1 ? std::vector<std::vector<std::byte>>{mine} : all_gather_bytes(*s_.group, mine);
    std::string ranks;
    for (std::size_t rank = 0; rank < flags.size(); ++rank) {
      if (flags[rank].at(0) != std::byte{0}) ranks += (ranks.empty() ? "" : ", ") + std::to_string(rank);
    }
    if (!ranks.empty()) text += " (from rank " + ranks + ")";
    break;
  }
  outcome_.non_finite = text;
}

}  // namespace dtrain
