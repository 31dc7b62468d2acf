# bench/workloads/py_torch.py - several PyTorch programs at once.  SPDX-License-Identifier: Apache-2.0
"""N processes that each train a small network of their own with two threads; counts training steps of all together."""
import argparse
import subprocess
import sys

import py_common

py_common.need("apt-get install python3-torch, and run this by /usr/bin/python3", "torch")
parser = argparse.ArgumentParser()
parser.add_argument("--processes", type=int, default=4)
parser.add_argument("--threads", type=int, default=2)
parser.add_argument("--steps", type=int, default=240, help="of all processes together")
parser.add_argument("--train", type=int, help="(what each of the processes is called with)")
py_common.add_arguments(parser)
args = parser.parse_args()


def train(steps):
    import torch
    torch.manual_seed(1)
    torch.set_num_threads(args.threads)
    layers = [m for _ in range(6) for m in (torch.nn.Linear(256, 256), torch.nn.ReLU())]
    net = torch.nn.Sequential(*layers)
    descent = torch.optim.SGD(net.parameters(), 0.01)
    x = torch.randn(64, 256)
    first = last = None
    for _ in range(steps):
        descent.zero_grad()
        last = (net(x) - x).square().mean()
        first = first or last.item()
        last.backward()
        descent.step()
    return last.item() < first


def all_of_them():
    command = [sys.executable, __file__, "--train", str(args.steps // args.processes), "--threads", str(args.threads)]
    return [p.wait() for p in [subprocess.Popen(command) for _ in range(args.processes)]]


if args.train:
    sys.exit(0 if train(args.train) else 1)
sys.exit(py_common.measure("torch", "step", args.steps, args, all_of_them, lambda ended: not any(ended), processes=args.processes))
