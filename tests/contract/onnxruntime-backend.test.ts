import { openOnnxRuntime } from "#ffi/onnxruntime/open-library.ts";
import { ONNXRUNTIME_BACKEND } from "../../src/backends/onnxruntime/backend.ts";
import { DATATYPES, type Datatype } from "../../src/base/datatype.ts";
import { identityModel, onnxModel } from "../support/onnx-model.ts";
import { backendContract, type ContractModel } from "./backend.contract.ts";

function modelBytes(model: ContractModel): Uint8Array {
  switch (model.does) {
    case "identity":
      return identityModel(model.datatype);
    case "optionalSum":
      return onnxModel({
        nodes: [{ operator: "Add", inputs: ["INPUT0", "INPUT1"], outputs: ["OUTPUT0"] }],
        inputs: [
          { name: "INPUT0", type: "FP32", shape: [2] },
          { name: "INPUT1", type: "FP32", shape: [2] },
        ],
        outputs: [{ name: "OUTPUT0", type: "FP32", shape: [2] }],
        initializers: [{ name: "INPUT1", type: "FP32", shape: [2], data: new Uint8Array(8) }],
      });
    case "failAboveOne":
      return onnxModel({
        nodes: [{ operator: "Gather", inputs: ["table", "INPUT0"], outputs: ["OUTPUT0"] }],
        inputs: [{ name: "INPUT0", type: "INT64", shape: [1] }],
        outputs: [{ name: "OUTPUT0", type: "INT64", shape: [1] }],
        initializers: [{ name: "table", type: "INT64", shape: [2], data: new Uint8Array(16) }],
      });
    case "corrupt":
      return new TextEncoder().encode("not a model");
  }
}

const unavailable = await openOnnxRuntime().then(
  () => undefined,
  (error: unknown) => (error instanceof Error ? error.message : String(error)),
);

backendContract("onnxruntime", {
  factory: ONNXRUNTIME_BACKEND,
  write(model, folder, versionDirectory) {
    folder.file(`${versionDirectory}/model.onnx`, modelBytes(model));
    return {};
  },
  datatypes: Object.keys(DATATYPES) as Datatype[],
  skipped: {
    "failure of one request": "a graph runs on the whole batch or not at all",
  },
  unavailable,
});
