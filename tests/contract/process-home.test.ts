import { instanceHomeContract } from "./instance-home.contract.ts";

const cycles = Number(process.env["TRIBUNE_LOAD_CYCLES"] ?? 12);
instanceHomeContract({ home: "process", loadCycleCount: cycles });
