# examples/contexts/attend.py - a layer of attention, forward and backward.  SPDX-License-Identifier: Apache-2.0
"""A transformer's layer by hand: embedding with positions, attention with several heads, a residual
connection, two dense layers. It learns by plain gradient descent, with numpy's matrix products.
"""
import numpy as np


class Attention:
    def __init__(self, length, width, head, seed=1):
        r = np.random.RandomState(seed)
        self.heads = width // head
        # Embeddings of a value and of a position; queries, keys, values, output; the dense layers.
        shapes = {"value": (1, width), "place": (length, width), "q": (width, width), "k": (width, width), "v": (width, width),
                  "o": (width, width), "up": (width, 2 * width), "down": (2 * width, 1)}
        self.weights = {name: r.randn(*shape) / np.sqrt(shape[0] if name != "place" else length) for name, shape in shapes.items()}

    def split(self, x):
        """From (batch, length, width) to (batch, heads, length, head)."""
        return x.reshape(*x.shape[:2], self.heads, -1).transpose(0, 2, 1, 3)

    def join(self, x):
        return x.transpose(0, 2, 1, 3).reshape(x.shape[0], x.shape[2], -1)

    def forward(self, x):
        """The prediction of what follows each row of x, and what `gradients` needs."""
        w = self.weights
        e = x[:, :, None] @ w["value"] + w["place"]
        q, k, v = (self.split(e @ w[name]) for name in "qkv")
        s = q @ k.transpose(0, 1, 3, 2) / np.sqrt(q.shape[-1])
        s = np.exp(s - s.max(-1, keepdims=True))
        s /= s.sum(-1, keepdims=True)
        a = self.join(s @ v)
        h = (e + a @ w["o"])[:, -1]     # the last place tells what follows
        u = np.maximum(h @ w["up"], 0)
        return (u @ w["down"])[:, 0], (x, e, q, k, v, s, a, h, u)

    def gradients(self, error, saved):
        """Of the mean square of the error, by weight."""
        x, e, q, k, v, s, a, h, u = saved
        w, g = self.weights, {}
        out = 2 * error[:, None] / len(error)
        g["down"] = u.T @ out
        du = out @ w["down"].T * (u > 0)
        g["up"] = h.T @ du
        d_last = du @ w["up"].T
        de = np.zeros_like(e)
        de[:, -1] = d_last
        g["o"] = a[:, -1].T @ d_last
        da = np.zeros_like(a)
        da[:, -1] = d_last @ w["o"].T
        da = self.split(da)
        dv = s.transpose(0, 1, 3, 2) @ da
        ds = da @ v.transpose(0, 1, 3, 2)
        ds = s * (ds - (ds * s).sum(-1, keepdims=True)) / np.sqrt(q.shape[-1])
        flat = e.reshape(-1, e.shape[-1])
        for name, d in (("q", ds @ k), ("k", ds.transpose(0, 1, 3, 2) @ q), ("v", dv)):
            d = self.join(d)
            g[name] = flat.T @ d.reshape(flat.shape)
            de += d @ w[name].T
        g["place"] = de.sum(0)
        g["value"] = x.reshape(1, -1) @ de.reshape(flat.shape)
        return g

    def learn(self, x, y, rate):
        """A step downhill; the mean square of the error before it."""
        predicted, saved = self.forward(x)
        error = predicted - y
        for name, gradient in self.gradients(error, saved).items():
            self.weights[name] -= rate * gradient
        return float((error ** 2).mean())
