# XLA's compiler and its thread pool: products, a convolution, gradients.  SPDX-License-Identifier: Apache-2.0
import os

os.environ.setdefault("JAX_PLATFORMS", "cpu")
from common import library, matrix, np, repeat  # noqa: E402

jax = library(lambda: __import__("jax"))
jnp = jax.numpy
a = matrix(1, 400, 400)
images = np.random.Generator(np.random.PCG64(2)).standard_normal((8, 8, 32, 32)).astype(np.float32)
kernel0 = np.random.Generator(np.random.PCG64(3)).standard_normal((16, 8, 3, 3)).astype(np.float32) / 10


@jax.jit
def step(kernel):
    def loss(k):
        return jnp.mean(jax.nn.relu(jax.lax.conv(images, k, (1, 1), "SAME")) ** 2)
    value, gradient = jax.value_and_grad(loss)(kernel)
    return value, kernel - 0.1 * gradient


@jax.jit
def algebra(x):
    return x @ x, (x @ x).sum(), jax.nn.softmax(x), jnp.cumsum(x, 0), jnp.linalg.svd(x[:60, :60], compute_uv=False), jnp.sort(x, 1)


def compute():
    kernel, losses = jnp.asarray(kernel0), []
    for _ in range(3):
        value, kernel = step(kernel)
        losses.append(value)
    return [np.asarray(x) for x in (*algebra(a), *losses, kernel)]


repeat(compute)
