import { describe, expect, test } from "bun:test";
import { parseOrtApi, renderApiTable } from "#ffi/onnxruntime/generate-api-table.ts";

const HEADER = `
#define ORT_API_VERSION 21
struct OrtApi {
  /** \\brief Makes a status; semicolons; in comments do not end anything */
  OrtStatus*(ORT_API_CALL* CreateStatus)(OrtErrorCode code, _In_ const char* msg)NO_EXCEPTION ORT_ALL_ARGS_NONNULL;
  ORT_API2_STATUS(Run, _Inout_ OrtSession* session,
                  _In_reads_(input_len) const char* const* input_names, size_t input_len,
                  _Outptr_ OrtValue** out);
  ORT_CLASS_RELEASE(Value); // frees it
#ifdef __cplusplus
#endif
  /** \\since Version 1.20. */
  ORT_API_T(bool, HasShape, _In_ const OrtInfo* info);
  const char*(ORT_API_CALL* GetBuildInfoString)(void);
};
`;

describe("the generator", () => {
  test("reads all four forms of declaration, in slot order", () => {
    const { apiVersion, functions } = parseOrtApi(HEADER);
    expect(apiVersion).toBe(21);
    expect(functions.map(({ name, index, since }) => [name, index, since])).toEqual([
      ["CreateStatus", 0, 0],
      ["Run", 1, 0],
      ["ReleaseValue", 2, 0],
      ["HasShape", 3, 20],
      ["GetBuildInfoString", 4, 0],
    ]);
    expect(functions[1]?.parameters).toEqual([
      "OrtSession* session",
      "const char* const* input_names",
      "size_t input_len",
      "OrtValue** out",
    ]);
  });

  test("gives each argument its FFI type beside its C declaration", () => {
    const text = renderApiTable(parseOrtApi(HEADER), ["CreateStatus", "HasShape"]);
    expect(text).toContain('"i32", // OrtErrorCode code\n"cstring", // const char* msg');
    expect(text).toContain("HasShape: { index: 3, since: 20,");
    expect(text).toContain('returns: "bool"');
    expect(text).not.toContain("Run");
  });

  test("stops at a declaration that it does not know, since all later slots would be wrong", () => {
    const header = HEADER.replace("ORT_CLASS_RELEASE(Value);", "ORT_NEW_FORM[Value];");
    expect(() => parseOrtApi(header)).toThrow("unknown form of declaration: ORT_NEW_FORM[Value];");
  });

  test("stops at a wanted function that the header lacks", () => {
    expect(() => renderApiTable(parseOrtApi(HEADER), ["Walk"])).toThrow("the header lacks Walk");
  });

  test("stops at a type that it has no counterpart for", () => {
    const header = HEADER.replace("size_t input_len", "long double input_len");
    expect(() => renderApiTable(parseOrtApi(header), ["Run"])).toThrow(
      'no FFI type for "long double input_len"',
    );
  });
});
