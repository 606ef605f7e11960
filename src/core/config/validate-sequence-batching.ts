import type {
  ModelConfig as ModelConfigMessage,
  ModelSequenceBatching,
  ModelSequenceBatching_Control,
  ModelSequenceBatching_State,
} from "#gen/inference/model_config_pb.ts";
import {
  DataType,
  DataTypeSchema,
  ModelSequenceBatching_Control_Kind as Kind,
  ModelSequenceBatching_Control_KindSchema as KindSchema,
  ModelInstanceGroup_Kind,
} from "#gen/inference/model_config_pb.ts";
import type { ConfigFaults } from "./config-faults.ts";
import { isDimension } from "./dimensions.ts";
import { enumName } from "./field-words.ts";

const CORRELATION_ID_TYPES: readonly DataType[] = [
  DataType.TYPE_UINT64,
  DataType.TYPE_INT64,
  DataType.TYPE_UINT32,
  DataType.TYPE_INT32,
  DataType.TYPE_STRING,
];

/** Checks `sequence_batching`. @see Triton docs, "Batchers", "Sequence Batcher". */
export function checkSequenceBatching(
  message: ModelConfigMessage,
  batching: ModelSequenceBatching,
  faults: ConfigFaults,
): void {
  checkStrategy(message, batching, faults);
  checkControls(message.name, batching, faults);
  checkStates(message, batching, faults);
}

function checkStrategy(
  { name, maxBatchSize }: ModelConfigMessage,
  { strategyChoice }: ModelSequenceBatching,
  faults: ConfigFaults,
): void {
  if (strategyChoice.case === "direct") {
    const utilization = strategyChoice.value.minimumSlotUtilization;
    faults.require(
      utilization >= 0 && utilization <= 1,
      () =>
        `sequence batching minimum slot utilization must be in range [0.0, 1.0] for ${name}, got ${utilization}`,
    );
  } else if (strategyChoice.case === "oldest") {
    for (const size of strategyChoice.value.preferredBatchSize) {
      faults.require(
        size > 0,
        () => `sequence batching preferred batch size must be positive for ${name}`,
      );
      faults.require(
        size <= maxBatchSize || size <= 0,
        () => `sequence batching preferred batch size must be <= max batch size for ${name}`,
      );
    }
  }
}

function checkControls(name: string, batching: ModelSequenceBatching, faults: ConfigFaults): void {
  const tensors = new Set<string>();
  const kinds = new Set<Kind>();
  for (const { name: tensor, control } of batching.controlInput) {
    faults.require(
      tensor !== "",
      () => `sequence batching control tensor must have a name for ${name}`,
    );
    faults.require(
      !tensors.has(tensor) && control.length === 1,
      () =>
        `sequence batching control tensor '${tensor}' must be specified once, for one control kind, for ${name}`,
    );
    tensors.add(tensor);
    for (const one of control) {
      faults.require(
        !kinds.has(one.kind),
        () => `sequence batching specifies multiple ${kindName(one.kind)} tensors for ${name}`,
      );
      kinds.add(one.kind);
      if (one.kind === Kind.CONTROL_SEQUENCE_CORRID) checkCorrelationId(name, one, faults);
      else checkSignal(name, one, faults);
    }
  }
}

function checkCorrelationId(
  name: string,
  control: ModelSequenceBatching_Control,
  faults: ConfigFaults,
): void {
  faults.require(
    CORRELATION_ID_TYPES.includes(control.dataType),
    () =>
      `unexpected data type for control CONTROL_SEQUENCE_CORRID for ${name}. Allowed data types are ` +
      "TYPE_UINT64, TYPE_INT64, TYPE_UINT32, TYPE_INT32 and TYPE_STRING",
  );
  faults.require(
    valuePairs(control).every(([, values]) => values.length === 0),
    () =>
      "sequence batching must not specify either 'int32_false_true', 'fp32_false_true' or 'bool_false_true' " +
      `for CONTROL_SEQUENCE_CORRID for ${name}`,
  );
}

function checkSignal(
  name: string,
  control: ModelSequenceBatching_Control,
  faults: ConfigFaults,
): void {
  const kind = kindName(control.kind);
  const given = valuePairs(control).filter(([, values]) => values.length > 0);
  faults.require(
    given.length > 0,
    () =>
      "sequence batching must specify either 'int32_false_true', 'fp32_false_true' or 'bool_false_true' " +
      `for ${kind} for ${name}`,
  );
  faults.require(
    given.length < 2,
    () =>
      "sequence batching specifies more than one from 'int32_false_true', 'fp32_false_true' and " +
      `'bool_false_true' for ${kind} for ${name}`,
  );
  for (const [field, values] of given) {
    faults.require(
      values.length === 2,
      () =>
        `sequence batching control '${field}' must have exactly 2 entries for ${kind} for ${name}, got ${values.length}`,
    );
  }
}

function kindName(kind: Kind): string {
  return enumName(KindSchema, kind);
}

function valuePairs(
  control: ModelSequenceBatching_Control,
): readonly (readonly [field: string, values: readonly unknown[]])[] {
  return [
    ["int32_false_true", control.int32FalseTrue],
    ["fp32_false_true", control.fp32FalseTrue],
    ["bool_false_true", control.boolFalseTrue],
  ];
}

function checkStates(
  message: ModelConfigMessage,
  batching: ModelSequenceBatching,
  faults: ConfigFaults,
): void {
  const { name } = message;
  const inputs = new Set<string>();
  const outputs = new Set<string>();
  for (const state of batching.state) {
    const { inputName, outputName } = state;
    const start = `sequence batching state '${inputName}'`;
    faults.require(
      inputName !== "" && outputName !== "",
      () => `${start} must specify 'input_name' and 'output_name' for ${name}`,
    );
    faults.require(
      !inputs.has(inputName) && !outputs.has(outputName),
      () => `${start} must have an input and an output of its own for ${name}`,
    );
    inputs.add(inputName);
    outputs.add(outputName);
    faults.require(
      state.dataType !== DataType.TYPE_INVALID,
      () => `${start} must specify 'data_type' for ${name}`,
    );
    faults.require(state.dims.length > 0, () => `${start} must specify 'dims' for ${name}`);
    faults.require(
      state.dims.every(isDimension),
      () =>
        `${start} dimension must be integer >= 1, or -1 to indicate a variable-size dimension for ${name}`,
    );
    checkGrowable(message, state, start, faults);
    checkInitialState(name, state, start, faults);
  }
}

function checkGrowable(
  { name, instanceGroup }: ModelConfigMessage,
  state: ModelSequenceBatching_State,
  start: string,
  faults: ConfigFaults,
): void {
  if (!state.useGrowableMemory) return;
  faults.require(
    state.useSameBufferForInputOutput,
    () =>
      `${start} with 'use_growable_memory' needs 'use_same_buffer_for_input_output' for ${name}`,
  );
  faults.require(
    instanceGroup.length > 0 &&
      instanceGroup.every(({ kind }) => kind === ModelInstanceGroup_Kind.GPU),
    () => `${start} with 'use_growable_memory' needs instance groups of KIND_GPU for ${name}`,
  );
}

function checkInitialState(
  name: string,
  state: ModelSequenceBatching_State,
  start: string,
  faults: ConfigFaults,
): void {
  faults.require(
    state.initialState.length <= 1,
    () => `${start} may have one 'initial_state' for ${name}, got ${state.initialState.length}`,
  );
  const [initial] = state.initialState;
  if (initial === undefined) return;
  faults.require(
    initial.name !== "",
    () => `${start}, 'initial_state' must specify 'name' for ${name}`,
  );
  faults.require(
    initial.dataType === state.dataType,
    () =>
      `${start}, 'initial_state' has data_type ${enumName(DataTypeSchema, initial.dataType)}, expected ${enumName(DataTypeSchema, state.dataType)} for ${name}`,
  );
  const fits =
    initial.dims.length === state.dims.length &&
    initial.dims.every((dim, i) => dim >= 1n && (state.dims[i] === -1n || state.dims[i] === dim));
  faults.require(
    fits,
    () =>
      `${start}, 'initial_state' has dims [${initial.dims.join(",")}], expected fixed dims that match [${state.dims.join(",")}] for ${name}`,
  );
  faults.require(
    initial.stateData.case !== undefined,
    () => `${start}, 'initial_state' must specify 'zero_data' or 'data_file' for ${name}`,
  );
}
