// The client under test of the MCP conformance suite: runs ibeam with a scripted model that calls the tools which a
// scenario expects. The suite appends the URL of its server and sets MCP_CONFORMANCE_*. IBEAM names the program.

import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";

const url = process.argv.at(-1);
const scenario = process.env.MCP_CONFORMANCE_SCENARIO ?? "";
const revision = process.env.MCP_CONFORMANCE_PROTOCOL_VERSION ?? "auto";
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? "{}");
const home = mkdtempSync(join(tmpdir(), "mcp-conformance-"));
const SERVER = "conf";
const MAX_LOGINS = 3;

// Scenarios whose tokens come without a person.
const MACHINE_GRANTS = {
  "auth/client-credentials-basic": () => ({
    grant: "client_credentials",
    clientId: context.client_id,
    clientSecret: context.client_secret,
  }),
  "auth/client-credentials-jwt": () => ({
    grant: "client_credentials",
    clientId: context.client_id,
    privateKeyFile: file("key.pem", context.private_key_pem),
  }),
  "auth/wif-jwt-bearer": () => ({
    grant: "jwt_bearer",
    clientId: context.client_id,
    assertionFile: file("assertion.jwt", context.valid_jwt),
  }),
  "auth/enterprise-managed-authorization": () => ({
    grant: "id_jag",
    clientId: context.client_id,
    clientSecret: context.client_secret,
    idpClientId: context.idp_client_id,
    idpTokenEndpoint: context.idp_token_endpoint,
    assertionFile: file("id-token.jwt", context.idp_id_token),
  }),
};

function file(name, content) {
  const path = join(home, name);
  writeFileSync(path, content, { mode: 0o600 });
  return path;
}

function authSettings() {
  if (!scenario.startsWith("auth/")) return undefined;
  if (MACHINE_GRANTS[scenario]) return MACHINE_GRANTS[scenario]();
  if (scenario === "auth/pre-registration") {
    return { clientId: context.client_id, clientSecret: context.client_secret };
  }
  return { clientMetadataUrl: "https://conformance-test.local/client-metadata.json" };
}

function callsFor(offered) {
  const named = (tool) => offered.find((name) => name.startsWith(`mcp_${SERVER}_${tool.replace(/[^\w-]/g, "_")}`));
  const calls = context.toolCalls
    ?? (scenario === "tools_call" ? [{ name: "add_numbers", arguments: { a: 2, b: 3 } }] : null);
  if (calls) {
    return calls
      .map((call) => ({ name: offered.includes(`mcp_${SERVER}_${call.name}`) ? `mcp_${SERVER}_${call.name}` : named(call.name), input: call.arguments }))
      .filter((call) => call.name);
  }
  return offered.map((name) => ({ name, input: { region: "eu" } }));
}

// A model that makes the calls of the scenario one by one and then ends its turn. It answers with one document.
function startModel() {
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk) => (body += chunk));
    request.on("end", () => {
      const { tools = [], messages = [] } = JSON.parse(body || "{}");
      const offered = tools.map((tool) => tool.name).filter((name) => name.startsWith(`mcp_${SERVER}_`));
      const made = messages.filter((message) => message.role === "assistant").length;
      const call = callsFor(offered)[made];
      const content = call
        ? [{ type: "tool_use", id: `toolu_${made}`, name: call.name, input: call.input }]
        : [{ type: "text", text: "done" }];
      const answer = {
        id: `msg_${made}`,
        type: "message",
        role: "assistant",
        model: "claude-test",
        content,
        stop_reason: call ? "tool_use" : "end_turn",
        usage: { input_tokens: 1, output_tokens: 1 },
      };
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify(answer));
    });
  });
  return new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(server)));
}

function run(args, environment, onLine = () => {}) {
  return new Promise((resolve) => {
    const child = spawn(process.env.IBEAM ?? "ibeam", args, {
      cwd: join(home, "work"),
      env: { PATH: process.env.PATH, HOME: home, ...environment },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    const collect = (chunk) => {
      output += chunk;
      process.stderr.write(chunk);
      onLine(output);
    };
    child.stdout.on("data", collect);
    child.stderr.on("data", collect);
    child.on("close", (code) => resolve({ code: code ?? 1, output }));
  });
}

// Logs in; plays the browser of the user: opens the page, and follows its redirect back to ibeam.
function login(environment) {
  const opened = new Set();
  return run(["mcp", "login", SERVER], environment, (output) => {
    for (const [, page] of output.matchAll(/to log in: (https?:\/\/\S+)[\r\n]/g)) {
      if (opened.has(page)) continue;
      opened.add(page);
      fetch(page).catch((error) => console.error(`browser: ${error}`));
    }
  });
}

mkdirSync(join(home, "work"));
mkdirSync(join(home, ".config", "ibeam"), { recursive: true });
const server = { url, revision, elicitation: "defaults", auth: authSettings() };
writeFileSync(join(home, ".config", "ibeam", "mcp.json"), JSON.stringify({ mcpServers: { [SERVER]: server } }));
const model = await startModel();
const environment = {
  ANTHROPIC_BASE_URL: `http://127.0.0.1:${model.address().port}`,
  ANTHROPIC_API_KEY: "sk-test-0000000000000000",
  BROWSER: "true",
};
const isInteractive = scenario.startsWith("auth/") && !MACHINE_GRANTS[scenario];
let code = 0;
for (let attempt = 0; attempt < MAX_LOGINS; attempt++) {
  if (isInteractive) {
    const result = await login(environment);
    if (result.code !== 0) {
      code = result.code;
      break;
    }
  }
  const flags = ["--model", "anthropic/claude-test", "--approve-mcps", "--sandbox", "disabled"];
  const result = await run(["-p", "call the tools", ...flags, "--output-format", "stream-json"], environment);
  code = result.code !== 0 ? result.code : /MCP server `\w+` did not start/.test(result.output) ? 1 : 0;
  if (!isInteractive || !result.output.includes("ibeam mcp login")) break;
}
model.close();
rmSync(home, { recursive: true, force: true });
process.exit(code);
