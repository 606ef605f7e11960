/**
 * Draws an 8x8 digit and asks a running server which one it is, straight from the browser.
 *
 * `?server=http://host:8000` names another server, `?protocol=grpc-web` the other protocol of the HTTP port.
 */
import { createClient } from "@connectrpc/connect";
import { createConnectTransport, createGrpcWebTransport } from "@connectrpc/connect-web";
import { GRPCInferenceService } from "#gen/inference/grpc_service_pb.ts";

const INK = 16;
const BEST_COUNT = 3;
/** A seven of the data set the model was trained on. */
const SEVEN = `
  00 00 05 16 12 02 00 00   00 00 04 11 16 10 00 00   00 00 00 00 14 11 00 00   00 00 02 04 14 14 02 00
  00 00 13 16 16 10 04 00   00 00 03 10 14 00 00 00   00 00 00 15 05 00 00 00   00 00 06 11 00 00 00 00`;

const parameters = new URLSearchParams(location.search);
const baseUrl = parameters.get("server") ?? "http://localhost:8000";
const transport =
  parameters.get("protocol") === "grpc-web"
    ? createGrpcWebTransport({ baseUrl })
    : createConnectTransport({ baseUrl, useBinaryFormat: true });
const client = createClient(GRPCInferenceService, transport);
const image = Float32Array.from(SEVEN.trim().split(/\s+/), Number);

function element(id: string): HTMLElement {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no #${id}`);
  return found;
}

/** The elements of a BYTES tensor: each has its length in four bytes before it. */
function texts(raw: Uint8Array): string[] {
  const view = new DataView(raw.buffer, raw.byteOffset, raw.byteLength);
  const found: string[] = [];
  for (let at = 0; at < raw.length; ) {
    const byteLength = view.getUint32(at, true);
    found.push(new TextDecoder().decode(raw.subarray(at + 4, at + 4 + byteLength)));
    at += 4 + byteLength;
  }
  return found;
}

async function classify(): Promise<string> {
  const response = await client.modelInfer({
    modelName: "digits",
    inputs: [{ name: "image", datatype: "FP32", shape: [1n, BigInt(image.length)] }],
    outputs: [
      {
        name: "probabilities",
        parameters: {
          classification: { parameterChoice: { case: "int64Param", value: BigInt(BEST_COUNT) } },
        },
      },
    ],
    rawInputContents: [new Uint8Array(image.buffer)],
  });
  // Each guess is "value:index:label".
  return texts(response.rawOutputContents[0] ?? new Uint8Array())
    .map((guess) => guess.split(":"))
    .map(([value, , label]) => `${label} ${(Number(value) * 100).toFixed(1)} %`)
    .join("\n");
}

async function show(): Promise<void> {
  const answer = element("answer");
  try {
    answer.textContent = await classify();
    answer.dataset["state"] = "answered";
  } catch (error) {
    answer.textContent = String(error);
    answer.dataset["state"] = "failed";
  }
}

function paint(cell: HTMLElement, at: number): void {
  cell.style.background = `rgb(28 35 48 / ${(image[at] ?? 0) / INK})`;
}

const cells = Array.from(image, (_, at) => {
  const cell = document.createElement("div");
  const draw = (event: PointerEvent) => {
    if (event.buttons === 0) return;
    cell.releasePointerCapture(event.pointerId);
    image[at] = INK;
    paint(cell, at);
  };
  cell.addEventListener("pointerdown", draw);
  cell.addEventListener("pointerenter", draw);
  paint(cell, at);
  return cell;
});
const pixels = element("pixels");
pixels.append(...cells);
pixels.addEventListener("pointerup", () => void show());
element("clear").addEventListener("click", () => {
  image.fill(0);
  cells.forEach(paint);
  element("answer").textContent = "";
});
element("server").textContent = `${baseUrl}, ${parameters.get("protocol") ?? "connect"}`;
void show();
