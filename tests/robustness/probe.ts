import type { ServerProcess } from "../bench/end-to-end/server-process.ts";

const A = Array.from({ length: 16 }, (_, i) => i);
const B = A.map(() => 3);

/** Sends one good request to `add_sub` and throws unless its answer is right. */
export async function probe(server: ServerProcess): Promise<void> {
  const answer = await fetch(`http://127.0.0.1:${server.httpPort}/v2/models/add_sub/infer`, {
    method: "POST",
    body: JSON.stringify({
      inputs: [
        { name: "INPUT0", datatype: "INT32", shape: [1, 16], data: A },
        { name: "INPUT1", datatype: "INT32", shape: [1, 16], data: B },
      ],
    }),
  });
  const text = await answer.text();
  if (answer.status !== 200) throw new Error(`a good request got ${answer.status}: ${text}`);
  const body = JSON.parse(text) as { outputs: { name: string; data: number[] }[] };
  const sums = body.outputs.find((output) => output.name === "OUTPUT0")?.data;
  if (JSON.stringify(sums) !== JSON.stringify(A.map((value) => value + 3))) {
    throw new Error(`a good request got a wrong answer: ${text}`);
  }
}
