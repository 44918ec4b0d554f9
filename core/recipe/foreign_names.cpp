// SPDX-License-Identifier: Apache-2.0
#include "core/recipe/foreign_names.h"

#include <algorithm>
#include <array>

#include "core/base/nearest_name.h"

namespace dtrain {
namespace {

constexpr std::string_view kGlobal = "train.global_batch_size";
constexpr std::string_view kMicro = "train.micro_batch_size";
constexpr std::string_view kGlobalSentence =
    "it counts the samples of one update on all ranks together: per-device batch x accumulation steps x devices";
constexpr std::string_view kAccumulation =
    "accumulation is derived: global_batch_size / micro_batch_size micro-batches a step, whatever the number of ranks";

constexpr std::array kNames = {
    ForeignName{"per_device_train_batch_size", kMicro, kAccumulation},
    ForeignName{"per_gpu_train_batch_size", kMicro, kAccumulation},
    ForeignName{"train_micro_batch_size_per_gpu", kMicro, kAccumulation},
    ForeignName{"micro_batch_size_per_gpu", kMicro, kAccumulation},
    ForeignName{"device_batch_size", kMicro, kAccumulation},
    ForeignName{"micro_batch", kMicro, kAccumulation},
    ForeignName{"gradient_accumulation_steps", kGlobal, kAccumulation},
    ForeignName{"grad_accum_steps", kGlobal, kAccumulation},
    ForeignName{"accumulate_grad_batches", kGlobal, kAccumulation},
    ForeignName{"batch_size", kGlobal, kGlobalSentence},
    ForeignName{"train_batch_size", kGlobal, kGlobalSentence},
    ForeignName{"total_batch_size", kGlobal, kGlobalSentence},
    ForeignName{"global_batch", kGlobal, kGlobalSentence},
    ForeignName{"per_device_eval_batch_size", kMicro, "evaluation uses micro_batch_size too"},
    ForeignName{"learning_rate", "optimizer.lr", ""},
    ForeignName{"base_lr", "optimizer.lr", ""},
    ForeignName{"max_lr", "optimizer.lr", "lr is the rate after warm-up, before the schedule lowers it"},
    ForeignName{"min_lr", "lr_schedule.min_ratio", "min_ratio is a share of lr: min_lr / lr"},
    ForeignName{"adam_beta1", "optimizer.beta1", "with kind = \"adamw\""},
    ForeignName{"adam_beta2", "optimizer.beta2", "with kind = \"adamw\""},
    ForeignName{"betas", "optimizer.beta1", "write beta1 and beta2, two numbers"},
    ForeignName{"adam_epsilon", "optimizer.epsilon", "with kind = \"adamw\""},
    ForeignName{"eps", "optimizer.epsilon", ""},
    ForeignName{"wd", "optimizer.weight_decay", ""},
    ForeignName{"l2", "optimizer.weight_decay", ""},
    ForeignName{"no_decay", "optimizer.groups", "write groups = [{ match = \"*norm*\", weight_decay = 0.0 }]"},
    ForeignName{"max_steps", "train.steps", "steps are updates, not micro-batches"},
    ForeignName{"train_steps", "train.steps", "steps are updates, not micro-batches"},
    ForeignName{"num_steps", "train.steps", "steps are updates, not micro-batches"},
    ForeignName{"total_steps", "train.steps", "steps are updates, not micro-batches"},
    ForeignName{"max_iters", "train.steps", "steps are updates, not micro-batches"},
    ForeignName{"num_iterations", "train.steps", "steps are updates, not micro-batches"},
    ForeignName{"iterations", "train.steps", "steps are updates, not micro-batches"},
    ForeignName{"num_train_epochs", "train.epochs", ""},
    ForeignName{"num_epochs", "train.epochs", ""},
    ForeignName{"max_epochs", "train.epochs", ""},
    ForeignName{"n_epochs", "train.epochs", ""},
    ForeignName{"max_tokens", "train.tokens", ""},
    ForeignName{"num_tokens", "train.tokens", ""},
    ForeignName{"clip_grad_norm", "train.max_grad_norm", ""},
    ForeignName{"clip_norm", "train.max_grad_norm", ""},
    ForeignName{"grad_clip", "train.max_grad_norm", ""},
    ForeignName{"gradient_clip_val", "train.max_grad_norm", ""},
    ForeignName{"gradient_clipping", "train.max_grad_norm", ""},
    ForeignName{"warmup_steps", "lr_schedule.warmup", ""},
    ForeignName{"num_warmup_steps", "lr_schedule.warmup", ""},
    ForeignName{"warmup_iters", "lr_schedule.warmup", ""},
    ForeignName{"warmup_ratio", "lr_schedule.warmup", "warmup counts updates: ratio x steps"},
    ForeignName{"lr_scheduler_type", "lr_schedule.kind", ""},
    ForeignName{"lr_scheduler", "lr_schedule.kind", ""},
    ForeignName{"scheduler", "lr_schedule.kind", ""},
    ForeignName{"optim", "optimizer.kind", ""},
    ForeignName{"hidden_dim", "model.hidden_size", "with model kind = \"gpt\""},
    ForeignName{"d_model", "model.hidden_size", "with model kind = \"gpt\""},
    ForeignName{"n_embd", "model.hidden_size", "with model kind = \"gpt\""},
    ForeignName{"embed_dim", "model.hidden_size", "with model kind = \"gpt\""},
    ForeignName{"n_layer", "model.num_layers", "with model kind = \"gpt\""},
    ForeignName{"n_layers", "model.num_layers", "with model kind = \"gpt\""},
    ForeignName{"num_hidden_layers", "model.num_layers", "with model kind = \"gpt\""},
    ForeignName{"depth", "model.num_layers", "with model kind = \"gpt\""},
    ForeignName{"n_head", "model.num_heads", "with model kind = \"gpt\""},
    ForeignName{"n_heads", "model.num_heads", "with model kind = \"gpt\""},
    ForeignName{"num_attention_heads", "model.num_heads", "with model kind = \"gpt\""},
    ForeignName{"tie_word_embeddings", "model.tied_head", "with model kind = \"gpt\""},
    ForeignName{"max_seq_length", "data.seq_len", ""},
    ForeignName{"max_seq_len", "data.seq_len", ""},
    ForeignName{"seq_length", "data.seq_len", ""},
    ForeignName{"sequence_length", "data.seq_len", ""},
    ForeignName{"block_size", "data.seq_len", ""},
    ForeignName{"context_length", "data.seq_len", ""},
    ForeignName{"n_ctx", "data.seq_len", ""},
    ForeignName{"num_workers", "data.loaders", "loaders are threads of each rank; worker processes are launch.ranks"},
    ForeignName{"dataloader_num_workers", "data.loaders", "loaders are threads of each rank"},
    ForeignName{"val_fraction", "data.eval_fraction", ""},
    ForeignName{"val_split", "data.eval_fraction", ""},
    ForeignName{"dataset", "data.train", ""},
    ForeignName{"save_steps", "checkpoint.every", ""},
    ForeignName{"save_interval", "checkpoint.every", ""},
    ForeignName{"save_every", "checkpoint.every", ""},
    ForeignName{"save_total_limit", "checkpoint.keep_last", ""},
    ForeignName{"eval_steps", "eval.every", ""},
    ForeignName{"eval_interval", "eval.every", ""},
    ForeignName{"val_check_interval", "eval.every", "every counts steps"},
    ForeignName{"eval_iters", "eval.samples", "samples, not batches"},
    ForeignName{"logging_steps", "log.every", ""},
    ForeignName{"log_interval", "log.every", ""},
    ForeignName{"log_every_n_steps", "log.every", ""},
    ForeignName{"world_size", "launch.ranks", "or --ranks on the command line"},
    ForeignName{"nproc_per_node", "launch.ranks", "or --ranks on the command line"},
    ForeignName{"num_processes", "launch.ranks", "or --ranks on the command line"},
    ForeignName{"devices", "launch.ranks", "or --ranks on the command line"},
    ForeignName{"num_gpus", "launch.ranks", "or --ranks on the command line"},
    ForeignName{"random_seed", "run.seed", ""},
    ForeignName{"manual_seed", "run.seed", ""},
    ForeignName{"run_name", "run.name", ""},
    ForeignName{"backend", "comm.kind", ""},
    ForeignName{"output_dir", "", "the run directory is not part of a recipe: dtrain run --run-dir DIR"},
    ForeignName{"resume_from_checkpoint", "", "resuming is not part of a recipe: dtrain run --resume auto|never|PATH"},
    ForeignName{"local_rank", "", "dtrain starts the ranks and numbers them itself"},
    ForeignName{"master_addr", "", "dtrain finds addresses and ports itself"},
    ForeignName{"master_port", "", "dtrain finds addresses and ports itself"},
};

}  // namespace

std::span<const ForeignName> foreign_names() {
  return kNames;
}

const ForeignName* foreign_name(std::string_view name) {
  const auto it = std::find_if(kNames.begin(), kNames.end(),
                               [&](const ForeignName& f) { return name_distance(f.name, name) == 0; });
  return it == kNames.end() ? nullptr : &*it;
}

}  // namespace dtrain
