# A convolutional network in ONNX Runtime's thread pool.  SPDX-License-Identifier: Apache-2.0
from common import THREADS, library, np, repeat

onnx = library(lambda: __import__("onnx.helper"))
ort = library(lambda: __import__("onnxruntime"))
helper, FLOAT = onnx.helper, onnx.TensorProto.FLOAT
random = np.random.Generator(np.random.PCG64(1))


def weight(name, *shape):
    return onnx.numpy_helper.from_array(random.standard_normal(shape).astype(np.float32) / 10, name)


nodes = [helper.make_node("Conv", ["x", "k1"], ["c1"], pads=[1] * 4), helper.make_node("Relu", ["c1"], ["r1"]),
         helper.make_node("MaxPool", ["r1"], ["p1"], kernel_shape=[2, 2], strides=[2, 2]),
         helper.make_node("Conv", ["p1", "k2"], ["c2"], pads=[1] * 4), helper.make_node("Sigmoid", ["c2"], ["s2"]),
         helper.make_node("Flatten", ["s2"], ["f"]), helper.make_node("Gemm", ["f", "w", "b"], ["g"]),
         helper.make_node("Softmax", ["g"], ["y"])]
graph = helper.make_graph(nodes, "net", [helper.make_tensor_value_info("x", FLOAT, [8, 3, 64, 64])],
                          [helper.make_tensor_value_info(name, FLOAT, None) for name in ("y", "g", "c2")],
                          [weight("k1", 16, 3, 3, 3), weight("k2", 32, 16, 3, 3), weight("w", 32 * 32 * 32, 100), weight("b", 100)])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
options = ort.SessionOptions()
options.intra_op_num_threads = THREADS
session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
images = random.standard_normal((8, 3, 64, 64)).astype(np.float32)
repeat(lambda: session.run(None, {"x": images}))
