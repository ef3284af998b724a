// Prints the answer of a run, under either contract: ibeam -p "…" | node reader.mjs
import { createInterface } from "node:readline";

let told = false; // Under contract 2 a whole text may follow its pieces.
for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  /** @type {import("../ibeam.d.ts").StreamEvent} */
  const event = JSON.parse(line);
  if (event.type === "assistant") {
    const piece = "timestamp_ms" in event && !("model_call_id" in event);
    if (piece || !told) process.stdout.write(event.message.content[0].text);
    told = piece;
  }
  if (event.type === "tool_call" && event.subtype === "started") console.error(Object.keys(event.tool_call)[0]);
  if (event.type === "error") process.exitCode = event.exit_code;
}
