"""Writes the models of the end-to-end benchmark into a folder: add_sub, identity and a multi-layer perceptron.

The same models, configurations and names as in the published figures for Triton Inference Server that
`triton.json` beside this file holds, so that a row can be compared with a row.
"""

import sys
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper, numpy_helper

IR_VERSION = 8
OPSET = 17


def model(nodes, inputs, outputs, initializers=()):
    def info(entry):
        name, kind, shape = entry
        return helper.make_tensor_value_info(name, kind, shape)

    graph = helper.make_graph(nodes, "bench", [info(i) for i in inputs], [info(o) for o in outputs], list(initializers))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION)


def write(root, name, onnx_model, config):
    folder = root / name / "1"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.onnx").write_bytes(onnx_model.SerializeToString())
    (root / name / "config.pbtxt").write_text(f'name: "{name}"\nbackend: "onnxruntime"\n{config}')


def add_sub():
    kind, shape = TensorProto.INT32, ["batch", 16]
    nodes = [
        helper.make_node("Add", ["INPUT0", "INPUT1"], ["OUTPUT0"]),
        helper.make_node("Sub", ["INPUT0", "INPUT1"], ["OUTPUT1"]),
    ]
    return model(
        nodes, [(n, kind, shape) for n in ("INPUT0", "INPUT1")], [(n, kind, shape) for n in ("OUTPUT0", "OUTPUT1")]
    )


def identity():
    kind, shape = TensorProto.FLOAT, [1024]
    return model([helper.make_node("Identity", ["INPUT0"], ["OUTPUT0"])], [("INPUT0", kind, shape)], [("OUTPUT0", kind, shape)])


def echo():
    kind, shape = TensorProto.FLOAT, ["n"]
    return model([helper.make_node("Identity", ["INPUT0"], ["OUTPUT0"])], [("INPUT0", kind, shape)], [("OUTPUT0", kind, shape)])


def perceptron():
    random = np.random.default_rng(7)
    nodes, weights, previous = [], [], "INPUT0"
    sizes = [256, 1024, 1024, 10]
    for layer, (rows, columns) in enumerate(zip(sizes, sizes[1:])):
        weights.append(numpy_helper.from_array((random.standard_normal((rows, columns)) / np.sqrt(rows)).astype(np.float32), f"w{layer}"))
        weights.append(numpy_helper.from_array(np.zeros(columns, dtype=np.float32), f"b{layer}"))
        last = layer == len(sizes) - 2
        out = "OUTPUT0" if last else f"h{layer}"
        nodes.append(helper.make_node("Gemm", [previous, f"w{layer}", f"b{layer}"], [out if last else f"g{layer}"]))
        if not last:
            nodes.append(helper.make_node("Relu", [f"g{layer}"], [out]))
        previous = out
    return model(
        nodes, [("INPUT0", TensorProto.FLOAT, ["batch", 256])], [("OUTPUT0", TensorProto.FLOAT, ["batch", 10])], weights
    )


MLP_IO = """max_batch_size: 64
input [ { name: "INPUT0" data_type: TYPE_FP32 dims: [ 256 ] } ]
output [ { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ 10 ] } ]
dynamic_batching { max_queue_delay_microseconds: 500 }
"""


def main():
    root = Path(sys.argv[1])
    write(
        root,
        "add_sub",
        add_sub(),
        """max_batch_size: 8
input [
  { name: "INPUT0" data_type: TYPE_INT32 dims: [ 16 ] },
  { name: "INPUT1" data_type: TYPE_INT32 dims: [ 16 ] }
]
output [
  { name: "OUTPUT0" data_type: TYPE_INT32 dims: [ 16 ] },
  { name: "OUTPUT1" data_type: TYPE_INT32 dims: [ 16 ] }
]
dynamic_batching { }
instance_group [ { kind: KIND_CPU count: 1 } ]
""",
    )
    write(
        root,
        "identity",
        identity(),
        """max_batch_size: 0
input [ { name: "INPUT0" data_type: TYPE_FP32 dims: [ 1024 ] } ]
output [ { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ 1024 ] } ]
instance_group [ { kind: KIND_CPU count: 1 } ]
""",
    )
    write(
        root,
        "echo",
        echo(),
        """max_batch_size: 0
input [ { name: "INPUT0" data_type: TYPE_FP32 dims: [ -1 ] } ]
output [ { name: "OUTPUT0" data_type: TYPE_FP32 dims: [ -1 ] } ]
instance_group [ { kind: KIND_CPU count: 1 } ]
""",
    )
    write(root, "mlp", perceptron(), MLP_IO + "instance_group [ { kind: KIND_CPU count: 1 } ]\n")
    write(
        root,
        "mlp_t1x2",
        perceptron(),
        MLP_IO
        + """instance_group [ { kind: KIND_CPU count: 2 } ]
parameters { key: "intra_op_thread_count" value { string_value: "1" } }
""",
    )


if __name__ == "__main__":
    main()
