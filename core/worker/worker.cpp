// SPDX-License-Identifier: Apache-2.0
#include "core/worker/worker.h"

#include <malloc.h>

#include <ATen/Parallel.h>

#include <dtrain/error.h>
#include <dtrain/strategy.h>

#include "core/base/fault.h"
#include "core/base/log.h"
#include "core/base/version.h"
#include "core/comm/reducer.h"
#include "core/train/bit_domain.h"
#include "core/train/checkpointer.h"
#include "core/train/evaluator.h"
#include "core/train/lane_gradients.h"
#include "core/train/model_state.h"
#include "core/train/reader_feed.h"
#include "core/train/state_updater.h"
#include "core/train/torch_compute.h"
#include "core/train/trainer.h"
#include "core/worker/run_journal.h"

namespace dtrain {
namespace {

constexpr std::size_t kBucketElements = std::size_t{25} << 18;  // 25 MiB of fp32, as in PyTorch's DDP

// glibc gives every large block back to the kernel at once and faults it in again a moment later; keep what the process has.
void keep_freed_memory() {
  ::mallopt(M_MMAP_THRESHOLD, 1 << 30);
  ::mallopt(M_TRIM_THRESHOLD, -1);
  ::mallopt(M_TOP_PAD, 64 << 20);
}

// Reduces nothing: one rank's lanes are only folded. Otherwise as the plan says.
class PlannedReduction final : public GradientReduction {
 public:
  PlannedReduction(Reducer& reducer, FoldingGradients& gradients, std::span<float> out, std::size_t buckets)
      : reducer_(reducer), gradients_(gradients), out_(out), buckets_(buckets) {}

  void begin_step(std::vector<bool> present) { present_ = std::move(present); }

  std::size_t buckets() const override { return buckets_; }
  void begin() override { reducer_.begin(gradients_.parts(), present_, out_); }
  void start(std::size_t bucket) override { reducer_.start(bucket); }
  void finish() override { reducer_.finish(); }

 private:
  Reducer& reducer_;
  FoldingGradients& gradients_;
  std::span<float> out_;
  std::size_t buckets_;
  std::vector<bool> present_;
};

// Aborts what the training thread may be waiting in, when the agent says so; withdrawn at the end of the scope.
class AbortScope {
 public:
  AbortScope(AgentLink& link, std::function<void()> abort) : link_(link) { link_.on_abort(std::move(abort)); }
  ~AbortScope() { link_.on_abort({}); }
  AbortScope(const AbortScope&) = delete;
  AbortScope& operator=(const AbortScope&) = delete;

 private:
  AgentLink& link_;
};

class Worker {
 public:
  Worker(Session& session, const ResumePoint& resume, const WorkerSeat& seat, AgentLink& link);
  int run();

 private:
  using Buckets = std::vector<std::pair<std::size_t, std::size_t>>;

  ComponentPtr<Communicator> join() const;
  ModelState make_state();
  std::vector<Bucket> owned_buckets() const;
  LaneRange lane_range(int rank) const;
  std::unique_ptr<Reducer> make_reducer();
  std::vector<std::size_t> block_owners() const;
  Checkpointer::Setup checkpointer_setup();
  BatchReader::Setup reader_setup(const DataSplit& split, std::int64_t first, std::int64_t end) const;
  std::unique_ptr<Evaluator> make_evaluator();
  StepView view(std::int64_t step);

  Session& session_;
  const Plan& plan_;
  const ResumePoint& resume_;
  WorkerSeat seat_;
  AgentLink& link_;

  ComponentPtr<Communicator> group_;  // null on one rank
  ModelState state_;
  const FlatLayout& layout_;
  Buckets bucket_ranges_;
  std::vector<Bucket> buckets_;
  FloatBuffer reduced_;
  std::unique_ptr<Reducer> reducer_;
  ReaderFeed feed_;
  std::unique_ptr<TorchCompute> compute_;
  FoldingGradients gradients_;
  PlannedReduction reduction_;
  StepCommit commit_;
  StateUpdater updater_;
  CheckpointAccess checkpoints_;
  Checkpointer checkpointer_;
  std::vector<LaneView> lanes_;
};

ComponentPtr<Communicator> Worker::join() const {
  if (seat_.world == 1) return {};
  link_.phase("join", resume_.position.step);
  const CommContext context{.rank = seat_.rank,
                            .size = seat_.world,
                            .generation = seat_.generation,
                            .group = "world",
                            .timeout = std::chrono::milliseconds(static_cast<std::int64_t>(plan_.timeout_s * 1000)),
                            .rendezvous = &link_};
  return session_.loader.create<CommKind>(plan_.comm.name, context, plan_.comm.options);
}

ModelState Worker::make_state() {
  auto& table = session_.workshop.parameters();
  for (std::size_t i = 0; i < table.entries().size(); ++i) {
    const auto& entry = table.entries()[i];
    if (entry.buffer) continue;
    const auto group = std::find_if(plan_.groups.begin(), plan_.groups.end(), [&](const ParamGroupPlan& g) {
      return glob_match(g.match, entry.spec.name);
    });
    if (group != plan_.groups.end() && group->frozen) table.freeze(i);
  }
  return ModelState(table, session_.optimizer->slots());
}

std::vector<Bucket> Worker::owned_buckets() const {
  std::vector<Bucket> buckets;
  for (const auto& [begin, end] : bucket_ranges_) buckets.push_back({layout_.cut(begin, end, seat_.world)});
  return buckets;
}

LaneRange Worker::lane_range(int rank) const {
  const auto range = lanes_of_rank(plan_.lanes, rank, seat_.world);
  return {static_cast<int>(range.begin), static_cast<int>(range.end)};
}

std::unique_ptr<Reducer> Worker::make_reducer() {
  std::vector<LaneRange> owners;
  for (int rank = 0; rank < seat_.world; ++rank) owners.push_back(lane_range(rank));
  const auto lanes = static_cast<int>(plan_.lanes);
  return plan_.reduction == Reduction::canonical ? make_canonical_reducer(group_.get(), owners, lanes, buckets_)
                                                 : make_native_reducer(group_.get(), owners, lanes, buckets_);
}

// The rank that owns a block's slice of the reduction also computes its part of the norm: the values are warm there.
std::vector<std::size_t> Worker::block_owners() const {
  std::vector<std::size_t> owners;
  for (const auto& block : layout_.blocks()) {
    for (const auto& bucket : buckets_) {
      if (block.begin < bucket.cuts.front() || block.begin >= bucket.cuts.back()) continue;
      const auto next = std::upper_bound(bucket.cuts.begin(), bucket.cuts.end(), block.begin);
      owners.push_back(static_cast<std::size_t>(next - bucket.cuts.begin()) - 1);
    }
  }
  DTRAIN_CHECK(owners.size() == layout_.blocks().size());
  return owners;
}

Checkpointer::Setup Worker::checkpointer_setup() {
  Manifest manifest;
  manifest.bit_domain = bit_domain(plan_.threads);
  manifest.recipe = plan_.recipe;
  manifest.identity = plan_.identity;
  manifest.trajectory = plan_.trajectory;
  manifest.plugins = session_.plugins;
  manifest.dtrain_version = kVersion;
  Retention retention{.keep_last = plan_.keep_last, .keep_best = plan_.keep_best, .metric = plan_.best_metric};
  for (const auto& [name, metric] : session_.metrics) {
    if (name == plan_.best_metric) retention.higher_is_better = metric->higher_is_better();
  }
  return {.rank = seat_.rank,
          .world = seat_.world,
          .group = group_.get(),
          .state = &state_,
          .store = checkpoints_.checkpoints.get(),
          .manifest = std::move(manifest),
          .retention = retention};
}

BatchReader::Setup Worker::reader_setup(const DataSplit& split, std::int64_t first, std::int64_t end) const {
  return {.source = split.source(plan_.seed, seat_.rank),
          .world = seat_.world,
          .loaders = static_cast<int>(plan_.loaders),
          .first_step = first,
          .end_step = end};
}

Worker::Worker(Session& session, const ResumePoint& resume, const WorkerSeat& seat, AgentLink& link)
    : session_(session),
      plan_(session.plan),
      resume_(resume),
      seat_(seat),
      link_(link),
      group_(join()),
      state_(make_state()),
      layout_(state_.layout()),
      bucket_ranges_(layout_.buckets(kBucketElements)),
      buckets_(owned_buckets()),
      reduced_(layout_.size()),
      reducer_(make_reducer()),
      feed_(reader_setup(*session.data.train, resume.position.step, session.data.total_steps), session.data.info, true),
      gradients_(layout_.size(), bucket_ranges_, [this](float* flat) { compute_->set_destination(flat); }),
      reduction_(*reducer_, gradients_, reduced_.span(), bucket_ranges_.size()),
      commit_({.rank = seat.rank,
               .world = seat.world,
               .group = group_.get(),
               .layout = &layout_,
               .reduced = reduced_.span(),
               .block_owners = block_owners(),
               .max_grad_norm = plan_.max_grad_norm,
               .policy = plan_.non_finite,
               .max_consecutive_skips = plan_.max_consecutive_skips,
               .stop_requested = [&link] { return link.stop_requested(); },
               .is_own_gradient_bad = [this](std::size_t begin, std::size_t end) { return gradients_.is_bad(begin, end); }}),
      updater_({.layout = &layout_,
                .arena = &state_.arena(),
                .reduced = reduced_.span(),
                .optimizer = session.optimizer.get(),
                .schedule = session.schedule.get(),
                .plan = &plan_,
                .total_updates = session.data.total_steps,
                .commit = &commit_}),
      checkpoints_(open_checkpoints(plan_, session.loader, seat.run_dir + "/checkpoints")),
      checkpointer_(checkpointer_setup()) {
  compute_ = std::make_unique<TorchCompute>(TorchCompute::Setup{.model = session.model.get(),
                                                                      .loss = session.loss.get(),
                                                                      .table = &session.workshop.parameters(),
                                                                      .state = &state_,
                                                                      .feed = &feed_,
                                                                      .commit = &commit_,
                                                                      .seed = plan_.seed,
                                                                      .rank = seat.rank,
                                                                      .buckets = bucket_ranges_});
}

std::unique_ptr<Evaluator> Worker::make_evaluator() {
  const auto* split = session_.data.eval.get();
  if (split == nullptr || session_.metrics.empty()) return nullptr;
  Evaluator::Setup setup{.model = session_.model.get(),
                         .loss = session_.loss.get(),
                         .metrics = {},
                         .lanes = split->layout().lane_views(split->layout().step(0), seat_.rank, seat_.world),
                         .total_lanes = static_cast<int>(plan_.lanes),
                         .group = group_.get(),
                         .open = [this, split] {
                           return std::make_unique<ReaderFeed>(reader_setup(*split, 0, 1), session_.data.info, false);
                         },
                         .load_buffers = [this] { compute_->load_buffers(); }};
  for (const auto& [name, metric] : session_.metrics) setup.metrics.emplace_back(name, metric.get());
  return std::make_unique<Evaluator>(std::move(setup));
}

StepView Worker::view(std::int64_t step) {
  const auto& layout = session_.data.train->layout();
  const auto samples = layout.step(step);
  std::vector<bool> present;
  for (std::int64_t lane = 0; lane < plan_.lanes; ++lane) present.push_back(layout.lane(samples, lane).size() > 0);
  lanes_ = layout.lane_views(samples, seat_.rank, seat_.world);
  gradients_.begin_step(lane_range(seat_.rank), static_cast<int>(plan_.lanes), present);
  reduction_.begin_step(std::move(present));
  return {.step = step, .lanes = lanes_};
}

int Worker::run() {
  const AbortScope abort(link_, [this] {
    if (group_) group_->abort();
    feed_.abort();
  });
  link_.phase("load", resume_.position.step);
  if (seat_.rank == 0) checkpoints_.checkpoints->clean_stale();  // saves that a killed run did not end
  if (resume_.checkpoint) {
    checkpointer_.load(*resume_.checkpoint);
  } else {
    state_.initialise(session_.workshop.parameters(), plan_.seed);
  }
  const auto strategy = session_.loader.create<StrategyKind>(plan_.strategy.name,
                                                             StrategyContext{.rank = seat_.rank,
                                                                             .world = seat_.world,
                                                                             .compute = compute_.get(),
                                                                             .gradients = &gradients_,
                                                                             .reduction = &reduction_,
                                                                             .exchange = &commit_,
                                                                             .state = &updater_,
                                                                             .world_group = group_.get()},
                                                             plan_.strategy.options);
  const auto evaluator = make_evaluator();
  RunJournal journal({.session = &session_,
                      .seat = seat_,
                      .link = &link_,
                      .feed = &feed_,
                      .checkpointer = &checkpointer_,
                      .start = resume_.position});
  Trainer trainer({.rank = seat_.rank,
                   .plan = &plan_,
                   .total_steps = session_.data.total_steps,
                   .view = [this](std::int64_t step) { return view(step); },
                   .strategy = strategy.get(),
                   .commit = &commit_,
                   .updater = &updater_,
                   .evaluator = evaluator.get(),
                   .hooks = &journal});
  const auto end = trainer.run(resume_.position);
  link_.phase("leave", trainer.position().step);
  journal.finish(end, trainer.position());
  return end == RunEnd::diverged ? 4 : 0;
}

}  // namespace

int run_worker(Session& session, const ResumePoint& resume, const WorkerSeat& seat, AgentLink& link) {
  fault::arm_from_environment();
  keep_freed_memory();
  at::set_num_threads(static_cast<int>(session.plan.threads));
  return Worker(session, resume, seat, link).run();
}

}  // namespace dtrain
