# examples/contexts/learning.py - machine learning, as parts of workflows.  SPDX-License-Identifier: Apache-2.0
"""kmeans is scikit-learn's. dnn and transformer are torch's where its wheel is installed. Without it, the
network is scikit-learn's, and the transformer is a layer of attention in numpy (attend.py). network()
and attention() tell which.
"""
import importlib.util

import parts

HEAD = 16               # width of an attention head


def has_torch():
    """Debian's package does not count: it enters ONNX's types into pybind11's table, of which a process has one, so that a
    second copy cannot be imported."""
    spec = importlib.util.find_spec("torch")
    return spec is not None and "/dist-packages/" not in (spec.origin or "")


def network():
    return "The network is torch's." if has_torch() else "The network is scikit-learn's (torch's wheel is not installed)."


def attention():
    return "The transformer is torch's." if has_torch() else "The transformer is one layer of attention in numpy (torch's wheel is not installed)."


def kmeans(n, clusters=32, rounds=15):
    """n points in eight dimensions, without any structure, so that it goes on to change clusters."""
    import numpy as np
    from sklearn.cluster import KMeans

    points = np.random.RandomState(1).rand(n + clusters, 8)
    first = KMeans(clusters, init=points[:clusters], n_init=1, max_iter=1, tol=0, algorithm="lloyd")
    model = KMeans(clusters, init=points[:clusters], n_init=1, max_iter=rounds, tol=0, algorithm="lloyd")

    def work():
        before, after = first.fit(points).inertia_, model.fit(points).inertia_
        parts.check(after / before, 1, "kmeans: distances after and before")
        return float(after)

    return work


def series(n, length):
    """n pieces of a time series, and what follows each."""
    import numpy as np

    t = np.arange(length + 1) / 4 + np.arange(n)[:, None]
    values = np.sin(t) + 0.5 * np.sin(2.7 * t)
    return values[:, :-1], values[:, -1]


def dnn(n, epochs=4):
    """Three layers learn to go on with a time series."""
    x, y = series(n + 200, 64)
    return dnn_torch(x, y, epochs) if has_torch() else dnn_sklearn(x, y, epochs)


def dnn_sklearn(x, y, epochs):
    from sklearn.neural_network import MLPRegressor

    def work():
        net = MLPRegressor((256, 256), batch_size=200, shuffle=False, random_state=1)
        losses = [net.partial_fit(x, y).loss_ for _ in range(epochs)]
        parts.check(losses[-1] / losses[0], 1, "dnn: the loss after and before")
        return float(losses[-1])

    return work


def dnn_torch(x, y, epochs):
    import torch

    x, y = torch.tensor(x), torch.tensor(y)

    def work():
        with torch.random.fork_rng():
            torch.manual_seed(1)
            net = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 256), torch.nn.ReLU(),
                                      torch.nn.Linear(256, 1)).double()
        return torch_train(net, lambda batch: net(x[batch])[:, 0], y, epochs)

    return work


def torch_train(net, forward, y, epochs, batch=200):
    """The loss in the last epoch."""
    import torch

    step, losses = torch.optim.Adam(net.parameters(), lr=1e-3), []
    for _ in range(epochs):
        total = 0.0
        for at in range(0, len(y) - batch + 1, batch):
            part = slice(at, at + batch)
            step.zero_grad()
            loss = ((forward(part) - y[part]) ** 2).mean()
            loss.backward()
            step.step()
            total += float(loss)
        losses.append(total)
    parts.check(losses[-1] / losses[0], 1, "the loss after and before")
    return losses[-1]


def transformer(n, width=64, epochs=3):
    """Attention over pieces of a time series learns to go on with them."""
    x, y = series(n + 200, 24)
    return transformer_torch(x, y, width, epochs) if has_torch() else transformer_numpy(x, y, width, epochs)


def transformer_torch(x, y, width, epochs):
    import torch

    x, y = torch.tensor(x)[:, :, None], torch.tensor(y)

    def work():
        with torch.random.fork_rng():
            torch.manual_seed(1)
            layer = torch.nn.TransformerEncoderLayer(width, width // HEAD, 2 * width, dropout=0, batch_first=True)
            net = torch.nn.Sequential(torch.nn.Linear(1, width), layer, torch.nn.Linear(width, 1)).double()
        return torch_train(net, lambda batch: net(x[batch])[:, -1, 0], y, epochs)

    return work


def transformer_numpy(x, y, width, epochs, batch=200):
    from attend import Attention

    def work():
        net, losses = Attention(x.shape[1], width, HEAD), []
        for _ in range(epochs):
            losses.append(sum(net.learn(x[at:at + batch], y[at:at + batch], 0.005) for at in range(0, len(y) - batch + 1, batch)))
        parts.check(losses[-1] / losses[0], 1, "transformer: the loss after and before")
        return losses[-1]

    return work
