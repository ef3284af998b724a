// Drives a run through @openai/codex-sdk. Usage: codex.mjs CLI WORKSPACE URL FAILING_URL; the model's script is in sdks.rs.
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

// The SDK is installed in the current directory, this script stands elsewhere.
const require = createRequire(join(process.cwd(), "package.json"));
const entry = join(require.resolve.paths("@openai/codex-sdk")[0], "@openai/codex-sdk/dist/index.js");
const { Codex } = await import(pathToFileURL(entry));

const [cli, workspace, url, failingUrl] = process.argv.slice(2);
setTimeout(() => process.exit(70), 120_000).unref();
let failed = 0;

function check(name, holds, seen) {
  failed += holds ? 0 : 1;
  console.log(`${holds ? "PASS" : "FAIL"} codex-sdk: ${name}` + (holds ? "" : `\n  seen: ${JSON.stringify(seen)}`));
}

const codex = (baseUrl) => new Codex({ codexPathOverride: cli, baseUrl, apiKey: "key-of-the-acceptance" });
const writing = { workingDirectory: workspace, sandboxMode: "workspace-write", skipGitRepoCheck: true, model: "gpt-5" };
const of = (items, type) => items.filter((item) => item.type === type);

const thread = codex(url).startThread(writing);
const first = await thread.run("make a file");
check("a thread has an id", /^[0-9a-f-]{36}$/.test(thread.id ?? ""), thread.id);
check("the answer is whole", first.finalResponse === "The file is made.", first);
const [change] = of(first.items, "file_change");
check("a write is a file change", change?.status === "completed" && change.changes[0].path.endsWith("hello.txt"), first.items);
const [command] = of(first.items, "command_execution");
const ran = command?.exit_code === 0 && command.status === "completed" && command.aggregated_output === "ran\n";
check("a command has its output", ran && command.command.includes("echo ran"), first.items);
check("usage is counted", first.usage?.input_tokens > 0 && first.usage.output_tokens > 0, first.usage);
const written = join(workspace, "hello.txt");
check("the file is written", existsSync(written) && readFileSync(written, "utf8") === "hello\n");

const id = thread.id;
const second = await thread.run("and now?");
check("a thread goes on", second.finalResponse === "It says hello." && thread.id === id, second);

const { events } = await codex(url).resumeThread(id, writing).runStreamed("once more");
const seen = [];
for await (const event of events) seen.push(event);
const kinds = seen.map((event) => event.type);
check("a thread is resumed by its id", seen[0]?.thread_id === id, seen);
const order = kinds[0] === "thread.started" && kinds[1] === "turn.started" && kinds.at(-1) === "turn.completed";
check("events have their order", order && kinds.includes("item.completed"), kinds);

const reading = await codex(url).startThread({ ...writing, sandboxMode: "read-only" }).run("write it");
check("a sandbox that reads writes nothing", !existsSync(join(workspace, "unasked.txt")), reading);
check("and the turn goes on", reading.finalResponse === "I may not.", reading);

try {
  const turn = await codex(failingUrl).startThread(writing).run("hello");
  check("a failing run throws", false, turn);
} catch (error) {
  check("a failing run throws", /401|key/.test(error.message), error.message);
}

process.exit(failed ? 1 : 0);
