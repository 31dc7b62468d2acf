# bench/workloads/py_mlp.py - one PyTorch program with short parallel regions.  SPDX-License-Identifier: Apache-2.0
"""Inference by a network of 12 layers of 512x512 with a batch of 16: each layer is a parallel region of some 0.1 ms."""
import argparse

import py_common

py_common.need("apt-get install python3-torch, and run this by /usr/bin/python3", "torch")
parser = argparse.ArgumentParser()
parser.add_argument("--threads", type=int, default=2)
py_common.add_arguments(parser)
args = parser.parse_args()

import torch  # noqa: E402

STEPS = 100
torch.manual_seed(1)
torch.set_num_threads(args.threads)
net = torch.nn.Sequential(*[m for _ in range(12) for m in (torch.nn.Linear(512, 512), torch.nn.ReLU())])
x = torch.randn(16, 512)


def infer():
    with torch.no_grad():
        for _ in range(STEPS):
            y = net(x)
    return y


wanted = infer()
raise SystemExit(py_common.measure("mlp", "step", STEPS, args, infer, lambda y: torch.equal(y, wanted), threads=args.threads))
