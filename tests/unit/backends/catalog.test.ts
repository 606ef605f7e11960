import { expect, test } from "bun:test";
import { BACKEND_NAMES, backendFactory } from "../../../src/backends/catalog.ts";

test("every name of the catalog leads to the factory of that name", async () => {
  for (const name of BACKEND_NAMES) expect((await backendFactory(name)).name).toBe(name);
});

test("an unknown backend is refused in Triton's words, and the known ones are told", async () => {
  for (const name of ["nope", "constructor", ""]) {
    const failure: unknown = await backendFactory(name).catch((error: unknown) => error);
    expect(String(failure)).toContain(
      `unable to find backend library for backend '${name}', try specifying runtime on the model configuration`,
    );
    expect(String(failure)).toContain("identity");
  }
});
