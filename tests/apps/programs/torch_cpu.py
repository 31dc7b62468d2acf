# torch on the CPU: threads inside, a DataLoader's worker processes, training steps.  SPDX-License-Identifier: Apache-2.0
import threading

import torch

torch.manual_seed(0)
torch.set_num_threads(2)
a = torch.randn(300, 300, dtype=torch.float64)
expected = a @ a
ok = []


def work():
    ok.append(all(torch.allclose(a @ a, expected) for _ in range(5)))


threads = [threading.Thread(target=work) for _ in range(4)]
for t in threads:
    t.start()
for t in threads:
    t.join()
print('matmul in threads', ok)
data = torch.utils.data.TensorDataset(torch.arange(64).float().unsqueeze(1))
loader = torch.utils.data.DataLoader(data, batch_size=8, num_workers=2)
print('loader', sum(batch[0].sum().item() for batch in loader))
model = torch.nn.Sequential(torch.nn.Linear(10, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1))
step = torch.optim.SGD(model.parameters(), lr=0.01)
x = torch.randn(256, 10)
y = x.sum(1, keepdim=True)
first = last = None
for _ in range(30):
    step.zero_grad()
    loss = ((model(x) - y) ** 2).mean()
    loss.backward()
    step.step()
    first, last = first or loss.item(), loss.item()
print('learns', last < first)
