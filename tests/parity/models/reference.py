# SPDX-License-Identifier: Apache-2.0
"""Compares what dtrain's models computed with the same models in torch.nn, in double precision.

usage: reference.py FOLDER      FOLDER as written by model_parity_test.cpp
"""
import collections
import pathlib
import sys

import torch
import torch.nn.functional as F
from torch import nn

torch.set_num_threads(1)


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = (t.view(B, T, self.heads, -1).transpose(1, 2) for t in self.qkv(x).split(C, dim=2))
        scores = q @ k.transpose(2, 3) / q.shape[-1] ** 0.5
        scores = scores.masked_fill(torch.ones(T, T, dtype=torch.bool).triu(1), float("-inf"))
        return self.out((scores.softmax(-1) @ v).transpose(1, 2).reshape(B, T, C))


class GptBlock(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm1, self.attention = nn.LayerNorm(width), Attention(width, heads)
        self.norm2, self.up, self.down = nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class Gpt(nn.Module):
    def __init__(self, tied):
        super().__init__()
        self.tok, self.pos = nn.Embedding(11, 24), nn.Embedding(9, 24)
        self.blocks = nn.ModuleList(GptBlock(24, 3) for _ in range(2))
        self.norm = nn.LayerNorm(24)
        self.tied = tied
        if not tied:
            self.head = nn.Linear(24, 11, bias=False)

    def forward(self, ids):
        x = self.tok(ids) + self.pos(torch.arange(ids.shape[1]))
        for block in self.blocks:
            x = block(x)
        return F.linear(self.norm(x), self.tok.weight if self.tied else self.head.weight)


class ConvBlock(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(cin, cout, 3, padding=1, bias=False), nn.BatchNorm2d(cout)

    def forward(self, x):
        return F.max_pool2d(self.norm(self.conv(x)).relu(), 2)


class Convnet(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([ConvBlock(1, 5), ConvBlock(5, 7)])
        self.output = nn.Linear(7 * 3 * 2, 6)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.output(x.flatten(1))


class Mlp(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        for i, (a, b) in enumerate(zip(sizes[:-2], sizes[1:-1])):
            setattr(self, f"hidden{i}", nn.Linear(a, b))
        self.hidden = len(sizes) - 2
        self.output = nn.Linear(*sizes[-2:])

    def forward(self, x):
        x = x.flatten(1)
        for i in range(self.hidden):
            x = getattr(self, f"hidden{i}")(x).relu()
        return self.output(x)


def cross_entropy(output, batch, smoothing=0.0):
    target = batch["target"].clone()
    if "mask" in batch:
        target[batch["mask"] == 0] = -100
    sum_ = F.cross_entropy(output.flatten(0, -2), target.flatten(), reduction="sum", label_smoothing=smoothing)
    return sum_, (target >= 0).sum()


def squared_error(output, batch):
    keep = batch["mask"] != 0
    return F.mse_loss(output[keep], batch["target"][keep].double(), reduction="sum"), output[keep].numel()


CASES = {
    "gpt_tied": (lambda: Gpt(True), cross_entropy),
    "gpt_untied": (lambda: Gpt(False), cross_entropy),
    "gpt_mask_smoothing": (lambda: Gpt(True), lambda o, b: cross_entropy(o, b, 0.1)),
    "convnet_training": (Convnet, cross_entropy),
    "convnet_evaluation": (lambda: Convnet().eval(), cross_entropy),
    "mlp_classes": (lambda: Mlp([96, 9, 8, 6]), cross_entropy),
    "mlp_regression": (lambda: Mlp([96, 64, 4]), squared_error),
}


def read(folder):
    cases = collections.defaultdict(lambda: collections.defaultdict(dict))
    for line in (folder / "index.txt").read_text().splitlines():
        label, path, dtype, file, *shape = line.split(" ")
        group, name = path.split("/", 1)
        raw = bytearray((folder / file).read_bytes())
        cases[label][group][name] = torch.frombuffer(raw, dtype=getattr(torch, dtype)).reshape([int(d) for d in shape])
    return cases


def difference(got, want):
    """Largest error, relative to the largest value of the tensor."""
    if got.shape != want.shape:
        return float("inf")
    return float((got.double() - want.double()).abs().max() / want.double().abs().max().clamp(min=1e-6))


def compare(label, data):
    build, loss = CASES[label]
    model = build().double()
    params, buffers = dict(model.named_parameters()), dict(model.named_buffers())
    buffers = {n: b for n, b in buffers.items() if not n.endswith("num_batches_tracked")}
    if set(params) != set(data["param"]) or set(buffers) != set(data["buffer"]):
        return [f"names differ: {set(params) ^ set(data['param'])} {set(buffers) ^ set(data['buffer'])}"]
    with torch.no_grad():
        for name, tensor in {**params, **buffers}.items():
            tensor.copy_({**data["param"], **data["buffer"]}[name])
    batch = data["batch"]
    x = batch["input"]
    output = model(x.double() if x.is_floating_point() else x)
    sum_, weight = loss(output, batch)
    sum_.backward()
    want = {"result/output": output, "result/sum": sum_, "result/weight": torch.as_tensor(weight)}
    want.update({f"grad/{n}": p.grad for n, p in params.items()})
    want.update({f"after/{n}": b for n, b in buffers.items()})
    errors = {n: difference(data[n.split("/")[0]][n.split("/", 1)[1]], w.detach()) for n, w in want.items()}
    return [f"{n}: relative difference {e:.2e}" for n, e in errors.items() if not e < 1e-5]


def main():
    cases = read(pathlib.Path(sys.argv[1]))
    failed = set(CASES) - set(cases)
    for label, data in cases.items():
        for problem in compare(label, data):
            print(f"{label}: {problem}", file=sys.stderr)
            failed.add(label)
    sys.exit(f"differ or missing: {sorted(failed)}" if failed else 0)


if __name__ == "__main__":
    main()
