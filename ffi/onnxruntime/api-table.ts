// Made by generate-api-table.ts from onnxruntime_c_api.h, ORT_API_VERSION 29. Do not edit.

/** `ORT_API_VERSION` of the header that the table was made from. */
export const ORT_API_VERSION = 29;

/**
 * The functions of `struct OrtApi` that we call, in header order: slot in the table, minor version that brought it (0
 * where the header does not say), and the FFI type of each argument beside its C declaration.
 */
export const ORT_API_FUNCTIONS = {
  GetErrorCode: {
    index: 1,
    since: 0,
    args: [
      "ptr", // const OrtStatus* status
    ],
    returns: "i32",
  },
  GetErrorMessage: {
    index: 2,
    since: 0,
    args: [
      "ptr", // const OrtStatus* status
    ],
    returns: "cstring",
  },
  CreateEnv: {
    index: 3,
    since: 0,
    args: [
      "i32", // OrtLoggingLevel log_severity_level
      "cstring", // const char* logid
      "ptr", // OrtEnv** out
    ],
    returns: "ptr",
  },
  CreateSession: {
    index: 7,
    since: 0,
    args: [
      "ptr", // const OrtEnv* env
      "cstring", // const ORTCHAR_T* model_path
      "ptr", // const OrtSessionOptions* options
      "ptr", // OrtSession** out
    ],
    returns: "ptr",
  },
  Run: {
    index: 9,
    since: 0,
    args: [
      "ptr", // OrtSession* session
      "ptr", // const OrtRunOptions* run_options
      "ptr", // const char* const* input_names
      "ptr", // const OrtValue* const* inputs
      "u64", // size_t input_len
      "ptr", // const char* const* output_names
      "u64", // size_t output_names_len
      "ptr", // OrtValue** outputs
    ],
    returns: "ptr",
  },
  CreateSessionOptions: {
    index: 10,
    since: 0,
    args: [
      "ptr", // OrtSessionOptions** options
    ],
    returns: "ptr",
  },
  SetSessionExecutionMode: {
    index: 13,
    since: 0,
    args: [
      "ptr", // OrtSessionOptions* options
      "i32", // ExecutionMode execution_mode
    ],
    returns: "ptr",
  },
  EnableMemPattern: {
    index: 16,
    since: 0,
    args: [
      "ptr", // OrtSessionOptions* options
    ],
    returns: "ptr",
  },
  DisableMemPattern: {
    index: 17,
    since: 0,
    args: [
      "ptr", // OrtSessionOptions* options
    ],
    returns: "ptr",
  },
  EnableCpuMemArena: {
    index: 18,
    since: 0,
    args: [
      "ptr", // OrtSessionOptions* options
    ],
    returns: "ptr",
  },
  DisableCpuMemArena: {
    index: 19,
    since: 0,
    args: [
      "ptr", // OrtSessionOptions* options
    ],
    returns: "ptr",
  },
  SetSessionGraphOptimizationLevel: {
    index: 23,
    since: 0,
    args: [
      "ptr", // OrtSessionOptions* options
      "i32", // GraphOptimizationLevel graph_optimization_level
    ],
    returns: "ptr",
  },
  SetIntraOpNumThreads: {
    index: 24,
    since: 0,
    args: [
      "ptr", // OrtSessionOptions* options
      "i32", // int intra_op_num_threads
    ],
    returns: "ptr",
  },
  SetInterOpNumThreads: {
    index: 25,
    since: 0,
    args: [
      "ptr", // OrtSessionOptions* options
      "i32", // int inter_op_num_threads
    ],
    returns: "ptr",
  },
  SessionGetInputCount: {
    index: 30,
    since: 0,
    args: [
      "ptr", // const OrtSession* session
      "ptr", // size_t* out
    ],
    returns: "ptr",
  },
  SessionGetOutputCount: {
    index: 31,
    since: 0,
    args: [
      "ptr", // const OrtSession* session
      "ptr", // size_t* out
    ],
    returns: "ptr",
  },
  SessionGetOverridableInitializerCount: {
    index: 32,
    since: 0,
    args: [
      "ptr", // const OrtSession* session
      "ptr", // size_t* out
    ],
    returns: "ptr",
  },
  SessionGetInputTypeInfo: {
    index: 33,
    since: 0,
    args: [
      "ptr", // const OrtSession* session
      "u64", // size_t index
      "ptr", // OrtTypeInfo** type_info
    ],
    returns: "ptr",
  },
  SessionGetOutputTypeInfo: {
    index: 34,
    since: 0,
    args: [
      "ptr", // const OrtSession* session
      "u64", // size_t index
      "ptr", // OrtTypeInfo** type_info
    ],
    returns: "ptr",
  },
  SessionGetOverridableInitializerTypeInfo: {
    index: 35,
    since: 0,
    args: [
      "ptr", // const OrtSession* session
      "u64", // size_t index
      "ptr", // OrtTypeInfo** type_info
    ],
    returns: "ptr",
  },
  SessionGetInputName: {
    index: 36,
    since: 0,
    args: [
      "ptr", // const OrtSession* session
      "u64", // size_t index
      "ptr", // OrtAllocator* allocator
      "ptr", // char** value
    ],
    returns: "ptr",
  },
  SessionGetOutputName: {
    index: 37,
    since: 0,
    args: [
      "ptr", // const OrtSession* session
      "u64", // size_t index
      "ptr", // OrtAllocator* allocator
      "ptr", // char** value
    ],
    returns: "ptr",
  },
  SessionGetOverridableInitializerName: {
    index: 38,
    since: 0,
    args: [
      "ptr", // const OrtSession* session
      "u64", // size_t index
      "ptr", // OrtAllocator* allocator
      "ptr", // char** value
    ],
    returns: "ptr",
  },
  CreateRunOptions: {
    index: 39,
    since: 0,
    args: [
      "ptr", // OrtRunOptions** out
    ],
    returns: "ptr",
  },
  RunOptionsSetTerminate: {
    index: 46,
    since: 0,
    args: [
      "ptr", // OrtRunOptions* options
    ],
    returns: "ptr",
  },
  RunOptionsUnsetTerminate: {
    index: 47,
    since: 0,
    args: [
      "ptr", // OrtRunOptions* options
    ],
    returns: "ptr",
  },
  CreateTensorAsOrtValue: {
    index: 48,
    since: 0,
    args: [
      "ptr", // OrtAllocator* allocator
      "ptr", // const int64_t* shape
      "u64", // size_t shape_len
      "i32", // ONNXTensorElementDataType type
      "ptr", // OrtValue** out
    ],
    returns: "ptr",
  },
  CreateTensorWithDataAsOrtValue: {
    index: 49,
    since: 0,
    args: [
      "ptr", // const OrtMemoryInfo* info
      "ptr", // void* p_data
      "u64", // size_t p_data_len
      "ptr", // const int64_t* shape
      "u64", // size_t shape_len
      "i32", // ONNXTensorElementDataType type
      "ptr", // OrtValue** out
    ],
    returns: "ptr",
  },
  IsTensor: {
    index: 50,
    since: 0,
    args: [
      "ptr", // const OrtValue* value
      "ptr", // int* out
    ],
    returns: "ptr",
  },
  GetTensorMutableData: {
    index: 51,
    since: 0,
    args: [
      "ptr", // OrtValue* value
      "ptr", // void** out
    ],
    returns: "ptr",
  },
  GetStringTensorDataLength: {
    index: 53,
    since: 0,
    args: [
      "ptr", // const OrtValue* value
      "ptr", // size_t* len
    ],
    returns: "ptr",
  },
  GetStringTensorContent: {
    index: 54,
    since: 0,
    args: [
      "ptr", // const OrtValue* value
      "ptr", // void* s
      "u64", // size_t s_len
      "ptr", // size_t* offsets
      "u64", // size_t offsets_len
    ],
    returns: "ptr",
  },
  CastTypeInfoToTensorInfo: {
    index: 55,
    since: 0,
    args: [
      "ptr", // const OrtTypeInfo* type_info
      "ptr", // const OrtTensorTypeAndShapeInfo** out
    ],
    returns: "ptr",
  },
  GetOnnxTypeFromTypeInfo: {
    index: 56,
    since: 0,
    args: [
      "ptr", // const OrtTypeInfo* type_info
      "ptr", // ONNXType* out
    ],
    returns: "ptr",
  },
  GetTensorElementType: {
    index: 60,
    since: 0,
    args: [
      "ptr", // const OrtTensorTypeAndShapeInfo* info
      "ptr", // ONNXTensorElementDataType* out
    ],
    returns: "ptr",
  },
  GetDimensionsCount: {
    index: 61,
    since: 0,
    args: [
      "ptr", // const OrtTensorTypeAndShapeInfo* info
      "ptr", // size_t* out
    ],
    returns: "ptr",
  },
  GetDimensions: {
    index: 62,
    since: 0,
    args: [
      "ptr", // const OrtTensorTypeAndShapeInfo* info
      "ptr", // int64_t* dim_values
      "u64", // size_t dim_values_length
    ],
    returns: "ptr",
  },
  GetSymbolicDimensions: {
    index: 63,
    since: 0,
    args: [
      "ptr", // const OrtTensorTypeAndShapeInfo* info
      "ptr", // const char* dim_params[]
      "u64", // size_t dim_params_length
    ],
    returns: "ptr",
  },
  GetTensorTypeAndShape: {
    index: 65,
    since: 0,
    args: [
      "ptr", // const OrtValue* value
      "ptr", // OrtTensorTypeAndShapeInfo** out
    ],
    returns: "ptr",
  },
  CreateCpuMemoryInfo: {
    index: 69,
    since: 0,
    args: [
      "i32", // OrtAllocatorType type
      "i32", // OrtMemType mem_type
      "ptr", // OrtMemoryInfo** out
    ],
    returns: "ptr",
  },
  AllocatorFree: {
    index: 76,
    since: 0,
    args: [
      "ptr", // OrtAllocator* ort_allocator
      "ptr", // void* p
    ],
    returns: "ptr",
  },
  GetAllocatorWithDefaultOptions: {
    index: 78,
    since: 0,
    args: [
      "ptr", // OrtAllocator** out
    ],
    returns: "ptr",
  },
  ReleaseStatus: {
    index: 93,
    since: 0,
    args: [
      "ptr", // OrtStatus* input
    ],
    returns: "void",
  },
  ReleaseMemoryInfo: {
    index: 94,
    since: 0,
    args: [
      "ptr", // OrtMemoryInfo* input
    ],
    returns: "void",
  },
  ReleaseSession: {
    index: 95,
    since: 0,
    args: [
      "ptr", // OrtSession* input
    ],
    returns: "void",
  },
  ReleaseValue: {
    index: 96,
    since: 0,
    args: [
      "ptr", // OrtValue* input
    ],
    returns: "void",
  },
  ReleaseRunOptions: {
    index: 97,
    since: 0,
    args: [
      "ptr", // OrtRunOptions* input
    ],
    returns: "void",
  },
  ReleaseTypeInfo: {
    index: 98,
    since: 0,
    args: [
      "ptr", // OrtTypeInfo* input
    ],
    returns: "void",
  },
  ReleaseTensorTypeAndShapeInfo: {
    index: 99,
    since: 0,
    args: [
      "ptr", // OrtTensorTypeAndShapeInfo* input
    ],
    returns: "void",
  },
  ReleaseSessionOptions: {
    index: 100,
    since: 0,
    args: [
      "ptr", // OrtSessionOptions* input
    ],
    returns: "void",
  },
  CreateEnvWithGlobalThreadPools: {
    index: 119,
    since: 0,
    args: [
      "i32", // OrtLoggingLevel log_severity_level
      "cstring", // const char* logid
      "ptr", // const OrtThreadingOptions* tp_options
      "ptr", // OrtEnv** out
    ],
    returns: "ptr",
  },
  DisablePerSessionThreads: {
    index: 120,
    since: 0,
    args: [
      "ptr", // OrtSessionOptions* options
    ],
    returns: "ptr",
  },
  CreateThreadingOptions: {
    index: 121,
    since: 0,
    args: [
      "ptr", // OrtThreadingOptions** out
    ],
    returns: "ptr",
  },
  ReleaseThreadingOptions: {
    index: 122,
    since: 0,
    args: [
      "ptr", // OrtThreadingOptions* input
    ],
    returns: "void",
  },
  GetAvailableProviders: {
    index: 125,
    since: 0,
    args: [
      "ptr", // char*** out_ptr
      "ptr", // int* provider_length
    ],
    returns: "ptr",
  },
  ReleaseAvailableProviders: {
    index: 126,
    since: 0,
    args: [
      "ptr", // char** ptr
      "i32", // int providers_length
    ],
    returns: "ptr",
  },
  AddSessionConfigEntry: {
    index: 130,
    since: 0,
    args: [
      "ptr", // OrtSessionOptions* options
      "cstring", // const char* config_key
      "cstring", // const char* config_value
    ],
    returns: "ptr",
  },
  SetGlobalIntraOpNumThreads: {
    index: 147,
    since: 0,
    args: [
      "ptr", // OrtThreadingOptions* tp_options
      "i32", // int intra_op_num_threads
    ],
    returns: "ptr",
  },
  SetGlobalInterOpNumThreads: {
    index: 148,
    since: 0,
    args: [
      "ptr", // OrtThreadingOptions* tp_options
      "i32", // int inter_op_num_threads
    ],
    returns: "ptr",
  },
  SetGlobalSpinControl: {
    index: 149,
    since: 0,
    args: [
      "ptr", // OrtThreadingOptions* tp_options
      "i32", // int allow_spinning
    ],
    returns: "ptr",
  },
  AddRunConfigEntry: {
    index: 165,
    since: 0,
    args: [
      "ptr", // OrtRunOptions* options
      "cstring", // const char* config_key
      "cstring", // const char* config_value
    ],
    returns: "ptr",
  },
  SessionOptionsAppendExecutionProvider_TensorRT_V2: {
    index: 170,
    since: 0,
    args: [
      "ptr", // OrtSessionOptions* options
      "ptr", // const OrtTensorRTProviderOptionsV2* tensorrt_options
    ],
    returns: "ptr",
  },
  CreateTensorRTProviderOptions: {
    index: 171,
    since: 0,
    args: [
      "ptr", // OrtTensorRTProviderOptionsV2** out
    ],
    returns: "ptr",
  },
  UpdateTensorRTProviderOptions: {
    index: 172,
    since: 0,
    args: [
      "ptr", // OrtTensorRTProviderOptionsV2* tensorrt_options
      "ptr", // const char* const* provider_options_keys
      "ptr", // const char* const* provider_options_values
      "u64", // size_t num_keys
    ],
    returns: "ptr",
  },
  ReleaseTensorRTProviderOptions: {
    index: 174,
    since: 0,
    args: [
      "ptr", // OrtTensorRTProviderOptionsV2* input
    ],
    returns: "void",
  },
  HasValue: {
    index: 192,
    since: 0,
    args: [
      "ptr", // const OrtValue* value
      "ptr", // int* out
    ],
    returns: "ptr",
  },
  SessionOptionsAppendExecutionProvider_CUDA_V2: {
    index: 204,
    since: 11,
    args: [
      "ptr", // OrtSessionOptions* options
      "ptr", // const OrtCUDAProviderOptionsV2* cuda_options
    ],
    returns: "ptr",
  },
  CreateCUDAProviderOptions: {
    index: 205,
    since: 11,
    args: [
      "ptr", // OrtCUDAProviderOptionsV2** out
    ],
    returns: "ptr",
  },
  UpdateCUDAProviderOptions: {
    index: 206,
    since: 11,
    args: [
      "ptr", // OrtCUDAProviderOptionsV2* cuda_options
      "ptr", // const char* const* provider_options_keys
      "ptr", // const char* const* provider_options_values
      "u64", // size_t num_keys
    ],
    returns: "ptr",
  },
  ReleaseCUDAProviderOptions: {
    index: 208,
    since: 11,
    args: [
      "ptr", // OrtCUDAProviderOptionsV2* input
    ],
    returns: "void",
  },
  SessionOptionsAppendExecutionProvider: {
    index: 216,
    since: 12,
    args: [
      "ptr", // OrtSessionOptions* options
      "cstring", // const char* provider_name
      "ptr", // const char* const* provider_options_keys
      "ptr", // const char* const* provider_options_values
      "u64", // size_t num_keys
    ],
    returns: "ptr",
  },
  RegisterCustomOpsLibrary_V2: {
    index: 228,
    since: 14,
    args: [
      "ptr", // OrtSessionOptions* options
      "cstring", // const ORTCHAR_T* library_name
    ],
    returns: "ptr",
  },
  GetResizedStringTensorElementBuffer: {
    index: 252,
    since: 0,
    args: [
      "ptr", // OrtValue* value
      "u64", // size_t index
      "u64", // size_t length_in_bytes
      "ptr", // char** buffer
    ],
    returns: "ptr",
  },
  TensorTypeAndShape_HasShape: {
    index: 390,
    since: 24,
    args: [
      "ptr", // const OrtTensorTypeAndShapeInfo* info
    ],
    returns: "bool",
  },
} as const;
