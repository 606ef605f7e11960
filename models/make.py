"""Makes the example models: python models/make.py models (`make models-make`).

What it writes is committed, so that serving needs no Python. Running it again gives the same files with the versions of
models/requirements.txt. Four models, a few kilobytes each:

  digits       a classifier trained here on scikit-learn's bundled 8x8 handwritten digits; labels; dynamic batching
  add_sub      OUTPUT0 = INPUT0 + INPUT1, OUTPUT1 = INPUT0 - INPUT1 on INT32 [16]; dynamic batching
  greet        text in, text out (BYTES)
  standardize  (x - mean) / deviation of each row; has no config.pbtxt: everything is read from the model file
"""
import json
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

# Old enough for many years of runtimes; 20 is where StringConcat came in.
IR_VERSION = 9
OPSET = 20
DIGIT_NAMES = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]


def model(name: str, nodes, inputs, outputs, constants: dict[str, np.ndarray] | None = None) -> onnx.ModelProto:
    """A checked ONNX model; inputs and outputs are (name, element type, shape), text dimensions are free."""
    graph = helper.make_graph(
        nodes, name,
        [helper.make_tensor_value_info(*entry) for entry in inputs],
        [helper.make_tensor_value_info(*entry) for entry in outputs],
        [numpy_helper.from_array(value, key) for key, value in (constants or {}).items()])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], producer_name="tribune-examples")
    made.ir_version = IR_VERSION
    onnx.checker.check_model(made, full_check=True)
    return made


def write(repository: Path, name: str, made: onnx.ModelProto, config: str | None) -> Path:
    """Writes REPOSITORY/NAME/1/model.onnx and its configuration; returns REPOSITORY/NAME."""
    folder = repository / name
    (folder / "1").mkdir(parents=True, exist_ok=True)
    (folder / "1" / "model.onnx").write_bytes(made.SerializeToString(deterministic=True))
    if config is not None:
        (folder / "config.pbtxt").write_text(config)
    return folder


def make_digits(repository: Path) -> None:
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split
    from sklearn.neural_network import MLPClassifier

    digits = load_digits()
    train_x, test_x, train_y, test_y = train_test_split(digits.data / 16.0, digits.target, test_size=0.25, random_state=0)
    network = MLPClassifier(hidden_layer_sizes=(32,), alpha=1e-3, max_iter=2000, random_state=0).fit(train_x, train_y)
    accuracy = network.score(test_x, test_y)
    print(f"  digits       {accuracy:.1%} of {len(test_y)} unseen digits right")
    assert accuracy > 0.95, "the classifier of the example is not worth showing"

    first, second = (weights.astype(np.float32) for weights in network.coefs_)
    made = model(
        "digits",
        [helper.make_node("Div", ["image", "white"], ["scaled"]),
         helper.make_node("Gemm", ["scaled", "first_weights", "first_bias"], ["before"]),
         helper.make_node("Relu", ["before"], ["hidden"]),
         helper.make_node("Gemm", ["hidden", "second_weights", "second_bias"], ["scores"]),
         helper.make_node("Softmax", ["scores"], ["probabilities"], axis=1)],
        [("image", TensorProto.FLOAT, ["batch", 64])], [("probabilities", TensorProto.FLOAT, ["batch", 10])],
        {"white": np.float32(16.0), "first_weights": first, "first_bias": network.intercepts_[0].astype(np.float32),
         "second_weights": second, "second_bias": network.intercepts_[1].astype(np.float32)})
    folder = write(repository, "digits", made, """\
# A handwritten digit of 8x8 pixels, 0 (paper) to 16 (ink), row after row; out come the ten probabilities.
name: "digits"
backend: "onnxruntime"
max_batch_size: 64
input [ { name: "image" data_type: TYPE_FP32 dims: [ 64 ] } ]
output [ { name: "probabilities" data_type: TYPE_FP32 dims: [ 10 ] label_filename: "labels.txt" } ]
dynamic_batching { max_queue_delay_microseconds: 500 }
""")
    (folder / "labels.txt").write_text("".join(f"{name}\n" for name in DIGIT_NAMES))

    # A digit of the part that training did not see, as a ready request that asks for the three best guesses.
    at = int(np.flatnonzero(test_y == 7)[0])
    image = (test_x[at] * 16).round().astype(int)
    assert network.predict(test_x[at:at + 1])[0] == 7
    rows = ",\n".join("      " + ", ".join(f"{pixel:2d}" for pixel in row) for row in image.reshape(8, 8))
    (folder / "seven.json").write_text(f"""\
{{
  "inputs": [
    {{ "name": "image", "datatype": "FP32", "shape": [1, 64], "data": [
{rows}
    ] }}
  ],
  "outputs": [{{ "name": "probabilities", "parameters": {{ "classification": 3 }} }}]
}}
""")
    json.loads((folder / "seven.json").read_text())


def make_add_sub(repository: Path) -> None:
    made = model(
        "add_sub",
        [helper.make_node("Add", ["INPUT0", "INPUT1"], ["OUTPUT0"]), helper.make_node("Sub", ["INPUT0", "INPUT1"], ["OUTPUT1"])],
        [("INPUT0", TensorProto.INT32, ["batch", 16]), ("INPUT1", TensorProto.INT32, ["batch", 16])],
        [("OUTPUT0", TensorProto.INT32, ["batch", 16]), ("OUTPUT1", TensorProto.INT32, ["batch", 16])])
    write(repository, "add_sub", made, """\
# The sum and the difference of two rows.
name: "add_sub"
backend: "onnxruntime"
max_batch_size: 8
input [
  { name: "INPUT0" data_type: TYPE_INT32 dims: [ 16 ] },
  { name: "INPUT1" data_type: TYPE_INT32 dims: [ 16 ] }
]
output [
  { name: "OUTPUT0" data_type: TYPE_INT32 dims: [ 16 ] },
  { name: "OUTPUT1" data_type: TYPE_INT32 dims: [ 16 ] }
]
dynamic_batching { }
""")


def make_greet(repository: Path) -> None:
    made = model(
        "greet",
        [helper.make_node("StringConcat", ["hello", "name"], ["opened"]), helper.make_node("StringConcat", ["opened", "mark"], ["greeting"])],
        [("name", TensorProto.STRING, ["batch", "names"])], [("greeting", TensorProto.STRING, ["batch", "names"])],
        {"hello": np.array("Hello, ", dtype=object), "mark": np.array("!", dtype=object)})
    write(repository, "greet", made, """\
# Text in, text out: each name becomes a greeting.
name: "greet"
backend: "onnxruntime"
max_batch_size: 8
input [ { name: "name" data_type: TYPE_STRING dims: [ -1 ] } ]
output [ { name: "greeting" data_type: TYPE_STRING dims: [ -1 ] } ]
""")


def make_standardize(repository: Path) -> None:
    made = model(
        "standardize",
        [helper.make_node("ReduceMean", ["x", "axes"], ["mean"], keepdims=1),
         helper.make_node("Sub", ["x", "mean"], ["centred"]),
         helper.make_node("Mul", ["centred", "centred"], ["squared"]),
         helper.make_node("ReduceMean", ["squared", "axes"], ["variance"], keepdims=1),
         helper.make_node("Add", ["variance", "smallest"], ["positive"]),
         helper.make_node("Sqrt", ["positive"], ["deviation"]),
         helper.make_node("Div", ["centred", "deviation"], ["z"])],
        [("x", TensorProto.FLOAT, ["batch", "features"])], [("z", TensorProto.FLOAT, ["batch", "features"])],
        {"axes": np.array([1], dtype=np.int64), "smallest": np.float32(1e-12)})
    write(repository, "standardize", made, None)


def main() -> None:
    repository = Path(sys.argv[1])
    for make in (make_digits, make_add_sub, make_greet, make_standardize):
        make(repository)
    for path in sorted(repository.glob("*/1/model.onnx")):
        print(f"  {path.parent.parent.name:<12} {path.stat().st_size:>8,} bytes")


if __name__ == "__main__":
    main()
