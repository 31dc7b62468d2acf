# ATen and oneDNN: products, convolutions, a few steps of training.  SPDX-License-Identifier: Apache-2.0
from common import THREADS, library, matrix, np, repeat

torch = library(lambda: __import__("torch"))
torch.set_num_threads(THREADS)
torch.use_deterministic_algorithms(True)
a = torch.from_numpy(matrix(1, 400, 400))
images = torch.from_numpy(np.random.Generator(np.random.PCG64(2)).standard_normal((8, 8, 32, 32)).astype(np.float32))
goal = torch.from_numpy(np.random.Generator(np.random.PCG64(3)).standard_normal((8, 10)).astype(np.float32))


def compute():
    torch.manual_seed(4)
    net = torch.nn.Sequential(torch.nn.Conv2d(8, 16, 3), torch.nn.ReLU(), torch.nn.BatchNorm2d(16), torch.nn.MaxPool2d(2),
                              torch.nn.Flatten(), torch.nn.Linear(16 * 15 * 15, 10))
    adam = torch.optim.Adam(net.parameters())
    for _ in range(3):
        adam.zero_grad()
        loss = torch.nn.functional.mse_loss(net(images), goal)
        loss.backward()
        adam.step()
    results = [a @ a, (a @ a).sum(), a.cumsum(0), torch.softmax(a, 1), torch.fft.rfft2(a).abs(), loss, *net.parameters()]
    return [r.detach().numpy() for r in results]


repeat(compute)
