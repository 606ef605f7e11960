/** Names of parameters that only the server may give a meaning; forwarded headers and metadata must not forge them. */
export const RESERVED_PARAMETERS: readonly string[] = [
  "sequence_id",
  "sequence_start",
  "sequence_end",
  "priority",
  "timeout",
  "headers",
  "binary_data_output",
];
/** Begin of all names that belong to the server. */
export const RESERVED_PARAMETER_PREFIX = "triton_";
