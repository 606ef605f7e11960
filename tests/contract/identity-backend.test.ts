import { IDENTITY_BACKEND } from "../../src/backends/identity/backend.ts";
import { DATATYPES, type Datatype } from "../../src/base/datatype.ts";
import { backendContract } from "./backend.contract.ts";

const NO_FILES = "the model exists in its configuration only";

backendContract("identity", {
  factory: IDENTITY_BACKEND,
  write: () => ({}),
  datatypes: Object.keys(DATATYPES) as Datatype[],
  skipped: {
    optionalSum: "it adds nothing",
    failAboveOne: "it never fails",
    corrupt: NO_FILES,
    files: NO_FILES,
    "wrong names": "names are paired by their suffixes alone",
    "failure of one request": "it never fails",
  },
});
