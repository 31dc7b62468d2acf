# Eigen's thread pool and oneDNN: products, convolutions, a few steps of training.  SPDX-License-Identifier: Apache-2.0
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
from common import THREADS, library, matrix, np, repeat  # noqa: E402

tf = library(lambda: __import__("tensorflow"))
tf.config.threading.set_inter_op_parallelism_threads(2)
tf.config.threading.set_intra_op_parallelism_threads(THREADS)
tf.config.experimental.enable_op_determinism()
a = tf.constant(matrix(1, 500, 500))
images = tf.constant(np.random.Generator(np.random.PCG64(2)).standard_normal((8, 32, 32, 8)).astype(np.float32))
goal = tf.constant(np.random.Generator(np.random.PCG64(3)).standard_normal((8, 10)).astype(np.float32))
kernel0 = np.random.Generator(np.random.PCG64(4)).standard_normal((3, 3, 8, 16)).astype(np.float32) / 10
dense0 = np.random.Generator(np.random.PCG64(5)).standard_normal((30 * 30 * 16, 10)).astype(np.float32) / 100


@tf.function
def step(kernel, dense):
    with tf.GradientTape() as tape:
        hidden = tf.nn.relu(tf.nn.conv2d(images, kernel, 1, "VALID"))
        loss = tf.reduce_mean((tf.reshape(hidden, (8, -1)) @ dense - goal) ** 2)
    for variable, gradient in zip((kernel, dense), tape.gradient(loss, (kernel, dense))):
        variable.assign_sub(0.01 * gradient)
    return loss


weights = tf.Variable(kernel0), tf.Variable(dense0)


def compute():
    for variable, start in zip(weights, (kernel0, dense0)):
        variable.assign(start)
    losses = [step(*weights) for _ in range(3)]
    square = tf.matmul(a, a)
    return [x.numpy() for x in (square, tf.reduce_sum(square), tf.nn.softmax(a), tf.signal.fft2d(tf.cast(a, tf.complex64)),
                                *losses, *weights)]


repeat(compute)
