// Uses `ibeam acp` through the SDK for TypeScript, and prints each check as a line of JSON.
//
// Usage: client.mjs NODE_MODULES PROGRAM WORKSPACE. The scripted model is described in xtask/src/editors.
import { spawn } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";

const [modules, program, workspace] = process.argv.slice(2);
const sdk = path.join(modules, "@agentclientprotocol/sdk");
const manifest = JSON.parse(fs.readFileSync(path.join(sdk, "package.json")));
const acp = await import(pathToFileURL(path.join(sdk, manifest.main)));

function check(name, holds, seen) {
  console.log(JSON.stringify({ check: name, holds: Boolean(holds), seen: JSON.stringify(seen) ?? "" }));
}

async function refused(request) {
  try {
    return { result: await request };
  } catch (error) {
    return { code: error.code, message: error.message };
  }
}

/** The text of files that the editor has open and has not saved. */
const unsaved = new Map([[path.join(workspace, "open.txt"), "unsaved\n"]]);
const updates = [];
const requests = [];

const editor = acp
  .client({ name: "editor" })
  .onNotification(acp.methods.client.session.update, ({ params }) => void updates.push(params))
  .onRequest(acp.methods.client.session.requestPermission, ({ params }) => {
    requests.push(["permission", params]);
    const kind = params.toolCall.title.includes("no.txt") ? "reject_once" : "allow_once";
    const option = params.options.find((option) => option.kind === kind);
    return { outcome: { outcome: "selected", optionId: option.optionId } };
  })
  .onRequest(acp.methods.client.fs.readTextFile, ({ params }) => {
    requests.push(["read", params]);
    return { content: unsaved.get(params.path) ?? fs.readFileSync(params.path, "utf8") };
  })
  .onRequest(acp.methods.client.fs.writeTextFile, ({ params }) => {
    requests.push(["write", params]);
    unsaved.delete(params.path);
    fs.writeFileSync(params.path, params.content);
    return {};
  });

const child = spawn(program, ["acp"], { stdio: ["pipe", "pipe", "inherit"] });
const stream = acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout));
const of = (kind) => updates.map((entry) => entry.update).filter((update) => update.sessionUpdate === kind);
const text = (kind) => of(kind).map((update) => update.content.text).join("");

await editor.connectWith(stream, async (agent) => {
  const { agent: method } = acp.methods;
  const { session } = method;
  const clientCapabilities = { fs: { readTextFile: true, writeTextFile: true }, auth: { terminal: true } };
  const clientInfo = { name: "editor", version: "1" };
  const init = await agent.request(method.initialize, {
    protocolVersion: acp.PROTOCOL_VERSION,
    clientCapabilities,
    clientInfo,
  });
  check("initializes", init.protocolVersion === 1 && init.agentInfo.name === "ibeam", init);
  check("is offered a login in a terminal", init.authMethods.some((entry) => entry.type === "terminal"), init);
  const { loadSession, mcpCapabilities, sessionCapabilities } = init.agentCapabilities;
  check("is offered MCP over HTTP", loadSession && mcpCapabilities.http, init);
  check("is offered all session methods", ["list", "resume", "close", "delete"].every((name) => sessionCapabilities[name]), init);
  for (const methodId of init.authMethods.map((entry) => entry.id)) {
    check(`authenticates with \`${methodId}\``, await agent.request(method.authenticate, { methodId }), methodId);
  }
  let error = await refused(agent.request(method.authenticate, { methodId: "unknown" }));
  check("is refused an unknown method of authentication", error.code === -32602, error);

  const created = await agent.request(session.new, { cwd: workspace, mcpServers: [] });
  const { sessionId } = created;
  const current = (options, id) => options.find((option) => option.id === id)?.currentValue;
  check("begins a session", sessionId && created.modes.currentModeId === "agent", created);
  check("is offered options", ["mode", "model", "effort"].every((id) => current(created.configOptions, id)), created);
  const prompt = async (words, options) => {
    updates.length = 0;
    requests.length = 0;
    const blocks = [{ type: "text", text: words }];
    return agent.request(session.prompt, { sessionId, prompt: blocks }, options);
  };

  let response = await prompt("Say hello.");
  check("receives an answer", text("agent_message_chunk") === "Hello." && response.stopReason === "end_turn", updates);
  check("receives a title", of("session_info_update")[0]?.title === "Say hello.", updates);
  check("receives the usage", of("usage_update")[0]?.size > 0, updates);

  response = await prompt("Run a command.");
  check("is asked for a permission", requests[0]?.[0] === "permission" && requests[0][1].options.length === 4, requests);
  check("allows a command", fs.existsSync(path.join(workspace, "yes.txt")), updates);
  const states = of("tool_call_update").map((update) => update.status);
  check("receives the states of a call", states.join() === "in_progress,completed", updates);
  response = await prompt("Run another command.");
  check("rejects a command", !fs.existsSync(path.join(workspace, "no.txt")) && of("tool_call_update").pop()?.status === "failed", updates);

  await prompt("Read the open file.");
  const read = of("tool_call_update").pop();
  check("shows the model unsaved text", JSON.stringify(read).includes("unsaved"), updates);
  await prompt("Edit it.");
  const saved = fs.readFileSync(path.join(workspace, "open.txt"), "utf8");
  check("writes an edit", requests.some(([name]) => name === "write") && saved === "edited\n", [requests, saved]);
  check("receives a diff", of("tool_call_update").some((update) => update.content?.some((part) => part.type === "diff")), updates);
  await prompt("Create a file.");
  check("writes a new file", requests.some(([name, params]) => name === "write" && params.path.endsWith("new.txt")), requests);
  await prompt("Plan.");
  check("receives a plan", of("plan")[0]?.entries.length === 1, updates);

  let slow = prompt("Wait.");
  while (!text("agent_message_chunk").includes("Slow")) await new Promise((resolve) => setTimeout(resolve, 20));
  error = await refused(agent.request(session.prompt, { sessionId, prompt: [{ type: "text", text: "Now." }] }));
  check("is refused a second prompt", error.code === -32600, error);
  await agent.notify(session.cancel, { sessionId });
  response = await slow;
  check("cancels a prompt", response.stopReason === "cancelled", response);
  const abort = new AbortController();
  slow = refused(prompt("Wait again.", { cancellationSignal: abort.signal }));
  while (!text("agent_message_chunk").includes("Slow")) await new Promise((resolve) => setTimeout(resolve, 20));
  abort.abort();
  error = await slow;
  check("cancels a request", error.code === -32800 || /abort|cancel/i.test(error.message ?? ""), error);

  updates.length = 0;
  await agent.request(session.setMode, { sessionId, modeId: "plan" });
  await new Promise((resolve) => setTimeout(resolve, 200));
  check("sets the mode", current(of("config_option_update")[0]?.configOptions ?? [], "mode") === "plan", updates);
  const set = await agent.request(session.setConfigOption, { sessionId, configId: "effort", value: "high" });
  check("sets an option", current(set.configOptions, "effort") === "high" && set.configOptions.length === 3, set);
  error = await refused(agent.request(session.setConfigOption, { sessionId, configId: "effort", value: "x" }));
  check("is refused an unknown value", error.code === -32602, error);

  const listed = (await agent.request(session.list, { cwd: workspace })).sessions;
  check("lists the session", listed.length === 1 && listed[0].sessionId === sessionId && listed[0].title === "Say hello.", listed);
  await agent.request(session.close, { sessionId });
  error = await refused(prompt("Gone."));
  check("closes the session", error.code === -32002, error);
  updates.length = 0;
  await agent.request(session.resume, { sessionId, cwd: workspace, mcpServers: [] });
  check("resumes the session", of("agent_message_chunk").length === 0, updates);
  await agent.request(session.close, { sessionId });
  error = await refused(agent.request(session.load, { sessionId, cwd: path.dirname(workspace), mcpServers: [] }));
  check("is refused another directory", error.code === -32602 && error.message.includes(workspace), error);
  updates.length = 0;
  await agent.request(session.load, { sessionId, cwd: workspace, mcpServers: [] });
  check("loads the session", text("user_message_chunk").startsWith("Say hello.") && text("agent_message_chunk").startsWith("Hello."), updates);
  const ids = new Set(of("agent_message_chunk").map((update) => update.messageId));
  check("loads messages with ids", ids.size === of("agent_message_chunk").length, updates);
  await agent.request(session.delete, { sessionId });
  const left = (await agent.request(session.list, { cwd: workspace })).sessions;
  check("deletes the session", left.length === 0, left);
  error = await refused(agent.request("session/unknown", {}));
  check("is refused an unknown request", error.code === -32601, error);
  check("logs out", await agent.request(method.logout, {}), null);
});
child.stdin.end();
const code = await new Promise((resolve) => child.on("exit", resolve));
check("ends with the editor", code === 0, code);
