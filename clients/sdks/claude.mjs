// Drives a run through @anthropic-ai/claude-agent-sdk. Usage: claude.mjs CLI WORKSPACE FAILING_URL; the model's script is
// in sdks.rs.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

// The SDK is installed in the current directory, this script stands elsewhere.
const { query } = await import(pathToFileURL(join(process.cwd(), "node_modules/@anthropic-ai/claude-agent-sdk/sdk.mjs")));

const [cli, workspace, failingUrl] = process.argv.slice(2);
setTimeout(() => process.exit(70), 120_000).unref();
let failed = 0;

function check(name, holds, seen) {
  failed += holds ? 0 : 1;
  console.log(`${holds ? "PASS" : "FAIL"} claude-agent-sdk.mjs: ${name}` + (holds ? "" : `\n  seen: ${JSON.stringify(seen)}`));
}

const usual = { pathToClaudeCodeExecutable: cli, cwd: workspace };

async function run(prompt, options = {}) {
  const messages = [];
  for await (const message of query({ prompt, options: { ...usual, ...options } })) messages.push(message);
  return messages;
}

const blocks = (messages, type) =>
  messages.flatMap((message) => (Array.isArray(message.message?.content) ? message.message.content : [])).filter((block) => block.type === type);

const first = await run("make a file", { permissionMode: "acceptEdits", systemPrompt: "Speak Latin." });
const end = first.at(-1);
check("a run begins with its session", first[0]?.subtype === "init" && first[0].session_id === end.session_id, first[0]);
check("a call is a tool use", blocks(first, "tool_use").map((use) => use.name).join() === "Write", first);
check("its result is under its id", blocks(first, "tool_result")[0]?.tool_use_id === blocks(first, "tool_use")[0]?.id, first);
check("the result is the answer", end.subtype === "success" && end.result === "The file is made.", end);
check("usage is counted", end.usage.input_tokens > 0 && end.usage.output_tokens > 0, end.usage);
const written = join(workspace, "hello.txt");
check("the file is written", existsSync(written) && readFileSync(written, "utf8") === "hello\n");

const second = (await run("and now?", { resume: end.session_id })).at(-1);
check("a session is resumed", second.session_id === end.session_id && second.result === "It says hello.", second);

const asked = [];
const canUseTool = async (name, input) => {
  asked.push(`${name} ${input.file_path.split("/").at(-1)}`);
  return { behavior: "allow", updatedInput: input };
};
async function* prompts() {
  yield { type: "user", message: { role: "user", content: "write yes.txt" }, parent_tool_use_id: null, session_id: "" };
}
const third = await run(prompts(), { canUseTool });
check("the callback is asked", asked.join() === "Write yes.txt", asked);
check("what it allows is done", existsSync(join(workspace, "yes.txt")), third);

let thrown = null;
let last = null;
try {
  const env = { ...process.env, ANTHROPIC_BASE_URL: failingUrl };
  for await (const message of query({ prompt: "hello", options: { ...usual, env } })) last = message;
} catch (error) {
  thrown = error;
}
check("a failing run says so", last?.is_error === true && (thrown === null || /key|401/.test(thrown.message)), [last, thrown?.message]);

process.exit(failed ? 1 : 0);
