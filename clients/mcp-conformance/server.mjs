// Runs one server scenario of the MCP conformance suite against `ibeam mcp serve --http`. The suite sends no token, so its
// requests pass through a proxy that adds one. IBEAM names the program.
//
// Arguments: the script of the suite, the revision, the scenario.

import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { createServer, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

const [suite, revision, scenario] = process.argv.slice(2);
const TOKEN = "fake-token-of-the-conformance-suite";
const home = mkdtempSync(join(tmpdir(), "mcp-conformance-"));
const workspace = join(home, "workspace");
mkdirSync(workspace);

const environment = {
  PATH: process.env.PATH,
  HOME: home,
  IBEAM_MCP_TOKEN: TOKEN,
  ANTHROPIC_API_KEY: "fake-key",
};
const server = spawn(process.env.IBEAM, ["mcp", "serve", "--http", "0"], {
  cwd: workspace,
  env: environment,
  stdio: ["ignore", "pipe", "inherit"],
});
const url = new URL((await createInterface(server.stdout)[Symbol.asyncIterator]().next()).value);

const proxy = createServer((incoming, outgoing) => {
  const options = {
    host: url.hostname,
    port: url.port,
    path: incoming.url,
    method: incoming.method,
    headers: { ...incoming.headers, authorization: `Bearer ${TOKEN}` },
  };
  const forwarded = request(options, (answer) => {
    outgoing.writeHead(answer.statusCode, answer.headers);
    answer.pipe(outgoing);
  });
  forwarded.on("error", () => outgoing.destroy());
  outgoing.on("close", () => forwarded.destroy());
  incoming.pipe(forwarded);
});
await new Promise((resolve) => proxy.listen(0, "127.0.0.1", resolve));

const endpoint = `http://127.0.0.1:${proxy.address().port}/mcp`;
const words = ["server", "--url", endpoint, "--scenario", scenario, "--spec-version", revision, "--force"];
const child = spawn(process.execPath, [suite, ...words], { stdio: "inherit" });
const code = await new Promise((resolve) => child.on("exit", resolve));
server.kill();
proxy.close();
rmSync(home, { recursive: true, force: true });
process.exit(code ?? 1);
