import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { type AddressInfo, createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type DoorProcess, startHttpDoor, TOKEN } from "../doors/http-door.ts";
import { askSocket } from "../doors/invoke-client.ts";
import { type ModelServer, openaiAnswer, sendJson, startModelServer } from "../model-server.ts";
import { textOf } from "../server.ts";
import { createWorkspace } from "../workspace.ts";

/** Of a network that is kept for documentation; nobody is there. */
const ELSEWHERE = "192.0.2.1";

/** Code in the server's own process, as any of its packages is. */
const LEAK = `
import { createSocket } from "node:dgram";
import { lookup } from "node:dns/promises";
import { execFileSync } from "node:child_process";
import { createConnection } from "node:net";
import { openSync } from "node:fs";
const connect = (options) => new Promise((resolve, reject) => {
  createConnection(options).once("connect", () => resolve("connected")).once("error", reject);
});
const send = (host, port) => new Promise((resolve, reject) => {
  const socket = createSocket("udp4");
  socket.send("x", port, host, (thrown) => { socket.close(); if (thrown) reject(thrown); else resolve("sent"); });
});
const WAYS = {
  fetch: ({ host }) => fetch("http://" + host + "/").catch((thrown) => { throw thrown.cause; }),
  tcp: ({ host, port }) => connect({ host, port }),
  udp: ({ host, port }) => send(host, port),
  name: () => lookup("example.com"),
  program: ({ port }) => execFileSync(process.execPath, ["-e",
    "require('net').connect(" + port + ", '127.0.0.1').once('connect', () => console.log('connected')).once('error', (e) => console.log(e.code))"], { encoding: "utf8" }).trim(),
  namespace: ({ pid }) => openSync("/proc/" + pid + "/ns/net"),
};
export const register = (kit) => kit.tool({
  name: "leak",
  description: "Tries to get out.",
  effect: "egress",
  input: kit.z.object({ way: kit.z.string(), host: kit.z.string(), port: kit.z.int(), pid: kit.z.int() }),
  output: kit.z.object({ answer: kit.z.string() }),
  run: async (args) => {
    try { return { answer: "allowed: " + (await WAYS[args.way](args)) }; }
    catch (thrown) { return { answer: String(thrown?.code ?? thrown) }; }
  },
  render: ({ answer }) => answer,
});
`;

const PYTHON = `
import socket, sys
for host, port in ((sys.argv[1], int(sys.argv[2])), ("${ELSEWHERE}", 80)):
    try:
        socket.create_connection((host, port), 3)
        print("connected")
    except OSError as e:
        print(e.errno)
`;

const relayFolders = (): readonly string[] =>
  readdirSync(tmpdir()).filter((name) => name.startsWith("llmc-air-gap-"));

/** Of servers that were killed. */
const before = relayFolders();
const folder = mkdtempSync(join(tmpdir(), "llmc-gap-test-"));
const socket = join(folder, "invoke.sock");
const arrived: string[] = [];
let machine: Server;
let datagrams: Socket;
let model: ModelServer;
let door: DoorProcess;
let tcp: number;

const leak = async (way: string, host: string, port: number): Promise<string> => {
  const answer = await door.tool("leak", { way, host, port, pid: process.pid });
  return ((await answer.json()) as { data?: { answer: string }; answer?: string }).answer ?? "no answer";
};

beforeAll(async () => {
  machine = createServer(() => arrived.push("tcp")).listen(0, "127.0.0.1");
  await once(machine, "listening");
  tcp = (machine.address() as AddressInfo).port;
  datagrams = createSocket("udp4", () => arrived.push("udp"));
  datagrams.bind(0, "127.0.0.1");
  await once(datagrams, "listening");
  model = await startModelServer((response) => sendJson(response, openaiAnswer("from this machine")));
  door = await startHttpDoor({
    args: [
      ...["--set", "mcp.tools.custom_modules=mods", "--set", `mcp.llm.ollama_url=${model.url}`],
      ...["--set", `mcp.server.invoke_socket=${socket}`],
    ],
    env: { LLMC_MCP_TOKEN: TOKEN },
    files: {
      "mods/leak.mjs": LEAK,
      "out.py": PYTHON,
      "llmc.toml": `[mcp]
mode = "classic"
[mcp.security]
air_gapped_mode = true
[mcp.rlm]
profile = "unrestricted"
[mcp.tools]
allow_outbound_network = true
run_cmd_allowlist = ["python3"]
command_powers = ["python3:run", "python3:network"]
[mcp.llm]
agent_model = "ollama_chat/m"
`,
    },
  });
});

afterAll(async () => {
  await door?.[Symbol.asyncDispose]();
  await model?.[Symbol.asyncDispose]();
  machine?.close();
  datagrams?.close();
  rmSync(folder, { recursive: true, force: true });
});

describe("REQ-I10 a server with air_gapped_mode = true", () => {
  it.each([
    ["TCP to a server on the machine", "tcp", "127.0.0.1", /^ECONNREFUSED$/],
    ["TCP to another machine", "tcp", ELSEWHERE, /^ENETUNREACH$/],
    ["fetch to another machine", "fetch", ELSEWHERE, /^ENETUNREACH$/],
    ["a datagram to another machine", "udp", ELSEWHERE, /^ENETUNREACH$/],
    ["a name of the machine's resolver", "name", "", /^(?:EAI_AGAIN|ENOTFOUND)$/],
    ["a program that it starts without a sandbox", "program", "", /^allowed: ECONNREFUSED$/],
    ["the network of a process outside", "namespace", "", /^E(?:ACCES|PERM)$/],
  ])("a package or module in its process: %s is refused by the kernel", async (_, way, host, answer) => {
    expect(await leak(way, host, tcp)).toMatch(answer);
  });

  it("a command that may use the network reaches neither this machine nor another one", async () => {
    const answer = await door.tool("run_cmd", { command: `python3 out.py 127.0.0.1 ${tcp}` });
    // ECONNREFUSED and ENETUNREACH.
    expect(JSON.stringify(await answer.json())).toContain(String.raw`111\n101`);
  });

  it("a program of a model has no way of its own, and the tools that it calls have none", async () => {
    const code = `
      const ways = [typeof fetch, typeof require, typeof WebSocket];
      const { answer } = await tools.leak({ way: "tcp", host: "${ELSEWHERE}", port: 80, pid: 1 });
      console.log(JSON.stringify({ ways, answer }));`;
    const answer = await door.tool("execute_code", { language: "javascript", code });
    const text = JSON.stringify(await answer.json());
    expect(text).toContain("ENETUNREACH");
    expect(text.match(/undefined/g)).toHaveLength(3);
  });

  it("a configured model on this machine answers, through the relay", async () => {
    const body = { session_id: "s", role: "Grace", user_msg: "hello", inject_context: "" };
    const answer = await door.post("/invoke_agent", body);
    expect(await answer.json()).toMatchObject({ text: "from this machine" });
    expect(model.requests.length).toBe(1);
  });

  it("REQ-H1 /invoke is served over the Unix socket, which leads through the wall, and not over HTTP", async () => {
    const call = { method: "stat", params: { path: "out.py" } };
    const refused = await door.post("/invoke", call);
    expect(refused.status).toBe(403);
    expect(await refused.json()).toMatchObject({ error: { code: "PERMISSION_DENIED" } });
    const token = readFileSync(`${socket}.token`, "utf8").trim();
    expect(await askSocket(socket, call, { "x-llmc-token": token })).toMatchObject({ status: 200 });
  });

  it("nothing of all that arrived outside", async () => {
    expect(await leak("udp", "127.0.0.1", datagrams.address().port)).toBe("allowed: sent");
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(arrived).toEqual([]);
  });

  it("ends as it is told, with its relay", async () => {
    door.process.kill("SIGTERM");
    expect(await door.exited).toBe(0);
    expect(relayFolders().filter((name) => !before.includes(name))).toEqual([]);
  });
});

it("REQ-I10 over stdio and with a front of its own, commands are in the air gap, too", async () => {
  const workspace = await createWorkspace({
    "llmc.toml": "mcp.security.air_gapped_mode = true\nmcp.subprocess = true\n",
  });
  const server = await workspace.start();
  try {
    const devices = textOf(await server.call("run_cmd", { command: "cat /proc/net/dev" }));
    expect(devices.match(/^\s*\w+:/gm)?.map((name) => name.trim())).toEqual(["lo:"]);
  } finally {
    await server.stop();
    await workspace.remove();
  }
});
