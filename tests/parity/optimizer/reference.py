# SPDX-License-Identifier: Apache-2.0
"""Runs a torch optimizer on given parameters and gradients.

usage: reference.py CLASS JSON-ARGUMENTS COUNT UPDATES INPUT OUTPUT

INPUT holds float32: COUNT parameters, then COUNT gradients an update. OUTPUT receives the parameters after each update.
"""
import json
import sys

import torch

name, arguments, count, updates, source, target = sys.argv[1:]
count, updates = int(count), int(updates)
torch.set_num_threads(1)
values = torch.from_file(source, size=count * (updates + 1), dtype=torch.float32).clone().view(updates + 1, count)
param = torch.nn.Parameter(values[0].clone())
optimizer = getattr(torch.optim, name)([param], **json.loads(arguments))
with open(target, "wb") as out:
    for update in range(updates):
        param.grad = values[update + 1].clone()
        optimizer.step()
        out.write(param.detach().numpy().tobytes())
