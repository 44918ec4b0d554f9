// SPDX-License-Identifier: Apache-2.0
#include "core/comm/reducer.h"

#include <algorithm>
#include <map>
#include <utility>

#include <dtrain/error.h>

#include "core/comm/comm_thread.h"
#include "core/comm/tags.h"
#include "core/comm/tree_fold.h"

namespace dtrain {
namespace {

bool has_work(LaneNode node, int lanes, const std::vector<bool>& present) {
  const auto range = node.range(lanes);
  return std::any_of(present.begin() + range.begin, present.begin() + range.end, [](bool lane) { return lane; });
}

// One rank: the owner of everything.
class LocalReducer final : public Reducer {
 public:
  LocalReducer(int lanes, std::vector<Bucket> buckets) : buckets_(std::move(buckets)), fold_(lanes) {}

  void begin(std::span<const LanePart> parts, const std::vector<bool>&, std::span<float> out) override {
    parts_ = parts;
    out_ = out;
  }
  void start(std::size_t bucket) override {
    const auto begin = buckets_[bucket].cuts.front();
    known_.clear();
    for (const auto& part : parts_) known_[part.node] = part.data + begin;
    fold_.fold(known_, out_.subspan(begin, buckets_[bucket].cuts.back() - begin));
  }
  void finish() override {}

 private:
  std::vector<Bucket> buckets_;
  TreeFold fold_;
  std::map<LaneNode, const float*> known_;
  std::span<const LanePart> parts_;
  std::span<float> out_;
};

class CanonicalReducer final : public Reducer {
 public:
  CanonicalReducer(Communicator& group, std::vector<LaneRange> owners, int lanes, std::vector<Bucket> buckets)
      : group_(group),
        lanes_(lanes),
        buckets_(std::move(buckets)),
        fold_(lanes),
        thread_([this](std::size_t bucket) { reduce(bucket); }) {
    for (const auto& range : owners) nodes_of_rank_.push_back(maximal_nodes(range, lanes));
  }

  void begin(std::span<const LanePart> parts, const std::vector<bool>& lane_present, std::span<float> out) override {
    parts_ = parts;
    out_ = out;
    present_ = lane_present;
    thread_.begin(buckets_.size());
  }
  void start(std::size_t bucket) override { thread_.submit(bucket); }
  void finish() override { thread_.finish(); }

 private:
  void reduce(std::size_t bucket) {
    const auto& cuts = buckets_[bucket].cuts;
    const auto self = static_cast<std::size_t>(group_.rank());
    send_parts(bucket);
    const std::span<float> mine = out_.subspan(cuts[self], cuts[self + 1] - cuts[self]);
    receive_parts(bucket, mine.size());
    for (auto& work : receives_) work->wait();
    fold_.fold(known_, mine);
    share_result(bucket, mine);
  }

  // This rank's parts of every other owner's slice.
  void send_parts(std::size_t bucket) {
    const auto& cuts = buckets_[bucket].cuts;
    sends_.clear();
    for (int peer = 0; peer < group_.size(); ++peer) {
      const auto owner = static_cast<std::size_t>(peer);
      const auto count = cuts[owner + 1] - cuts[owner];
      if (peer == group_.rank() || count == 0) continue;
      for (std::size_t i = 0; i < parts_.size(); ++i) {
        const std::span<const float> slice(parts_[i].data + cuts[owner], count);
        sends_.push_back(group_.send(std::as_bytes(slice), peer, tags::kPart | bucket << 20 | i));
      }
    }
  }

  // All parts of this rank's slice into known_: its own as they lie, the others' into the receive buffers.
  void receive_parts(std::size_t bucket, std::size_t count) {
    receives_.clear();
    known_.clear();
    if (count == 0) return;
    const auto begin = buckets_[bucket].cuts[static_cast<std::size_t>(group_.rank())];
    for (const auto& part : parts_) known_[part.node] = part.data + begin;
    std::size_t used = 0;
    for (int peer = 0; peer < group_.size(); ++peer) {
      if (peer == group_.rank()) continue;
      std::size_t i = 0;
      for (const auto& node : nodes_of_rank_[static_cast<std::size_t>(peer)]) {
        if (!has_work(node, lanes_, present_)) continue;
        auto& buffer = receive_buffer(used++, count);
        receives_.push_back(group_.receive(std::as_writable_bytes(std::span(buffer).first(count)), peer,
                                           tags::kPart | bucket << 20 | i++));
        known_[node] = buffer.data();
      }
    }
  }

  void share_result(std::size_t bucket, std::span<const float> mine) {
    const auto& cuts = buckets_[bucket].cuts;
    receives_.clear();
    for (int peer = 0; peer < group_.size(); ++peer) {
      if (peer == group_.rank()) continue;
      const auto owner = static_cast<std::size_t>(peer);
      const auto theirs = out_.subspan(cuts[owner], cuts[owner + 1] - cuts[owner]);
      if (!theirs.empty()) {
        receives_.push_back(group_.receive(std::as_writable_bytes(theirs), peer, tags::kResult | bucket));
      }
      if (!mine.empty()) sends_.push_back(group_.send(std::as_bytes(mine), peer, tags::kResult | bucket));
    }
    for (auto& work : receives_) work->wait();
    for (auto& work : sends_) work->wait();
  }

  std::vector<float>& receive_buffer(std::size_t i, std::size_t count) {
    if (buffers_.size() <= i) buffers_.resize(i + 1);
    if (buffers_[i].size() < count) buffers_[i].resize(count);
    return buffers_[i];
  }

  Communicator& group_;
  int lanes_;
  std::vector<Bucket> buckets_;
  std::vector<std::vector<LaneNode>> nodes_of_rank_;
  TreeFold fold_;
  std::map<LaneNode, const float*> known_;
  std::vector<std::vector<float>> buffers_;
  std::vector<std::unique_ptr<Work>> sends_, receives_;
  std::span<const LanePart> parts_;
  std::vector<bool> present_;
  std::span<float> out_;
  CommThread thread_;  // last: it is the first to end
};

class NativeReducer final : public Reducer {
 public:
  NativeReducer(Communicator& group, int lanes, std::vector<Bucket> buckets)
      : group_(group),
        local_(lanes, buckets),
        buckets_(std::move(buckets)),
        thread_([this](std::size_t bucket) { reduce(bucket); }) {}

  void begin(std::span<const LanePart> parts, const std::vector<bool>& lane_present, std::span<float> out) override {
    local_.begin(parts, lane_present, out);
    out_ = out;
    thread_.begin(buckets_.size());
  }
  void start(std::size_t bucket) override { thread_.submit(bucket); }
  void finish() override { thread_.finish(); }

 private:
  void reduce(std::size_t bucket) {
    local_.start(bucket);
    const auto& cuts = buckets_[bucket].cuts;
    group_.all_reduce(out_.data() + cuts.front(), cuts.back() - cuts.front(), DType::f32, ReduceOp::sum)->wait();
  }

  Communicator& group_;
  LocalReducer local_;
  std::vector<Bucket> buckets_;
  std::span<float> out_;
  CommThread thread_;
};

}  // namespace

std::unique_ptr<Reducer> make_canonical_reducer(Communicator* group, std::vector<LaneRange> owners, int lanes,
                                                std::vector<Bucket> buckets) {
  if (group == nullptr) return std::make_unique<LocalReducer>(lanes, std::move(buckets));
  return std::make_unique<CanonicalReducer>(*group, std::move(owners), lanes, std::move(buckets));
}

std::unique_ptr<Reducer> make_native_reducer(Communicator* group, std::vector<LaneRange>, int lanes,
                                             std::vector<Bucket> buckets) {
  if (group == nullptr) return std::make_unique<LocalReducer>(lanes, std::move(buckets));
  if (!group->capabilities().contains("all_reduce")) {
    throw UserError("train.reduction = \"native\": the communication backend has no all-reduce of its own",
                    "use reduction = \"canonical\"");
  }
  return std::make_unique<NativeReducer>(*group, lanes, std::move(buckets));
}

}  // namespace dtrain
