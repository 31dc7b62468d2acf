# tests/survey/programs/onnx_run.py - a small network, run by threads of ONNX Runtime.  SPDX-License-Identifier: Apache-2.0
import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

rng = np.random.default_rng(1)
w = [rng.standard_normal((400, 400)).astype(np.float32) for _ in range(4)]
nodes = [op for i in range(4) for op in (helper.make_node("MatMul", [f"x{i}", f"w{i}"], [f"y{i}"]), helper.make_node("Tanh", [f"y{i}"], [f"x{i + 1}"]))]
graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x0", TensorProto.FLOAT, [64, 400])],
                          [helper.make_tensor_value_info("x4", TensorProto.FLOAT, [64, 400])], [onnx.numpy_helper.from_array(a, f"w{i}") for i, a in enumerate(w)])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
model.ir_version = 8
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 4
session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
x = rng.standard_normal((64, 400)).astype(np.float32)
print([round(float(session.run(None, {"x0": x * i})[0].sum()), 1) for i in range(40)])
