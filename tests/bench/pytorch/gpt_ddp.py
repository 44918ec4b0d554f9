# SPDX-License-Identifier: Apache-2.0
"""A plain PyTorch DistributedDataParallel script that trains a GPT: what vs_pytorch compares dtrain with.

usage: gpt_ddp.py CONFIG RANK      CONFIG: JSON, see vs_pytorch. Rank 0 writes CONFIG["report"].
"""
import contextlib
import json
import sys
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Attention(nn.Module):
    def __init__(self, width, heads, seq_len):
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mask = torch.ones(seq_len, seq_len, dtype=torch.bool).triu(1)  # no buffer: DDP would send it with Gloo, which knows no bool

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = (t.view(B, T, self.heads, -1).transpose(1, 2) for t in self.qkv(x).split(C, dim=2))
        if hasattr(F, "scaled_dot_product_attention"):
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            scores = (q @ k.transpose(2, 3)) * (1.0 / q.shape[-1] ** 0.5)
            y = scores.masked_fill(self.mask[:T, :T], float("-inf")).softmax(-1) @ v
        return self.out(y.transpose(1, 2).reshape(B, T, C))


class Block(nn.Module):
    def __init__(self, width, heads, seq_len):
        super().__init__()
        self.norm1, self.attention = nn.LayerNorm(width), Attention(width, heads, seq_len)
        self.norm2, self.up, self.down = nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class Gpt(nn.Module):
    def __init__(self, vocab_size, seq_len, layers, width, heads):
        super().__init__()
        self.tok, self.pos = nn.Embedding(vocab_size, width), nn.Embedding(seq_len, width)
        self.blocks = nn.ModuleList(Block(width, heads, seq_len) for _ in range(layers))
        self.norm = nn.LayerNorm(width)

    def forward(self, ids, targets):
        x = self.tok(ids) + self.pos(torch.arange(ids.shape[1]))
        for block in self.blocks:
            x = block(x)
        logits = F.linear(self.norm(x), self.tok.weight)
        return F.cross_entropy(logits.view(-1, logits.shape[-1]).float(), targets.reshape(-1))


def load_weights(model, folder):
    """Every parameter from FOLDER/index.json ({name: shape}) and FOLDER/NAME (float32); none may be missing or left over."""
    with open(f"{folder}/index.json", encoding="utf-8") as file:
        index = json.load(file)
    params = dict(model.named_parameters())
    if set(index) != set(params):
        sys.exit(f"gpt_ddp.py: the weights are of another model: {sorted(set(index) ^ set(params))}")
    with torch.no_grad():
        for name, param in params.items():
            values = torch.from_file(f"{folder}/{name}", size=param.numel(), dtype=torch.float32)
            param.copy_(values.view(index[name]))


def batches(config, rank):
    """What dtrain feeds this rank without shuffling: step after step a run of samples, cut into one micro-batch a rank."""
    samples, seq_len, world = config["micro_batch"], config["seq_len"], config["ranks"]
    tokens = torch.from_file(config["tokens"], size=config["token_count"], dtype=torch.int32).long()
    for step in range(config["steps"]):
        first = (step * world + rank) * samples * seq_len
        window = tokens[first:first + samples * seq_len + 1]
        yield window[:-1].view(samples, seq_len), window[1:].view(samples, seq_len)


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        config = json.load(file)
    rank = int(sys.argv[2])
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{config['rendezvous']}", rank=rank, world_size=config["ranks"])
    model = Gpt(config["vocab_size"], config["seq_len"], config["layers"], config["width"], config["heads"])
    load_weights(model, config["weights"])
    tuned = config["tuned"]
    ddp = DistributedDataParallel(model, gradient_as_bucket_view=tuned, static_graph=tuned)
    optimizer = torch.optim.AdamW(model.parameters(), lr=config["lr"], betas=(0.9, 0.999), eps=1e-8,
                                  weight_decay=config["weight_decay"], **({"foreach": True} if tuned else {}))
    precision = (torch.autocast("cpu", dtype=torch.bfloat16) if config["dtype"] == "bf16" else contextlib.nullcontext())

    losses, step_ms, first_step_at = [], [], None
    data = batches(config, rank)
    for _ in range(config["steps"]):
        begin = time.perf_counter()
        ids, targets = next(data)
        optimizer.zero_grad(set_to_none=not tuned)
        with precision:
            loss = ddp(ids, targets)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), config["max_grad_norm"])
        optimizer.step()
        losses.append(loss.item())
        step_ms.append((time.perf_counter() - begin) * 1e3)
        first_step_at = first_step_at or time.time()

    every_loss = torch.tensor(losses, dtype=torch.float64)
    dist.all_reduce(every_loss)  # ranks have equal numbers of targets
    if rank == 0:
        report = {"losses": (every_loss / config["ranks"]).tolist(), "step_ms": step_ms, "first_step_at": first_step_at}
        with open(config["report"], "w", encoding="utf-8") as file:
            json.dump(report, file)
    dist.barrier()
    dist.destroy_process_group()


main()
