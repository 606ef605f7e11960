import { normalize } from "node:path";
import type { ModelConfig as ModelConfigMessage } from "#gen/inference/model_config_pb.ts";
import type { ConfigFaults } from "./config-faults.ts";

/**
 * Checks that every file a configuration names lies in the model's own directory. A configuration may come with a
 * load request, whose sender must not get at other files of the machine.
 */
export function checkFileNames(message: ModelConfigMessage, faults: ConfigFaults): void {
  const check = (field: string, base: string, file: string) => {
    const path = normalize(`${base}/${file}`);
    faults.require(
      path !== ".." && !path.startsWith("../") && !file.includes("\0"),
      () => `${field} '${file}' of model '${message.name}' must stay within the model directory`,
    );
  };
  // Files of a version may lie beside the version directories, to be shared by them.
  check("default_model_filename", "version", message.defaultModelFilename);
  for (const file of Object.values(message.ccModelFilenames)) {
    check("cc_model_filenames", "version", file);
  }
  for (const output of message.output) check("label_filename", ".", output.labelFilename);
  for (const { inputs } of message.modelWarmup) {
    for (const { inputDataType } of Object.values(inputs)) {
      if (inputDataType.case !== "inputDataFile") continue;
      check("input_data_file", "warmup", inputDataType.value);
    }
  }
  if (message.schedulingChoice.case !== "sequenceBatching") return;
  for (const { initialState } of message.schedulingChoice.value.state) {
    for (const { stateData } of initialState) {
      if (stateData.case === "dataFile") check("data_file", "initial_state", stateData.value);
    }
  }
}
