// Prints the answer of a run: ibeam -p "…" | node reader.mjs
import { createInterface } from "node:readline";

for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  /** @type {import("../ibeam.d.ts").StreamEvent} */
  const event = JSON.parse(line);
  if (event.type === "assistant") process.stdout.write(event.message.content[0].text);
  if (event.type === "tool_call" && event.subtype === "started") console.error(Object.keys(event.tool_call)[0]);
  if (event.type === "error") process.exitCode = event.exit_code;
}
