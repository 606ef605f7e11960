import { instanceHomeContract } from "./instance-home.contract.ts";

const cycles = Number(process.env["TRIBUNE_LOAD_CYCLES"] ?? 30);
instanceHomeContract({ home: "thread", loadCycleCount: cycles });
