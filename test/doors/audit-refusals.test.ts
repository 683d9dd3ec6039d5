import { readdirSync, readFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createWorkspace } from "../workspace.ts";
import { startHttpDoor, TOKEN } from "./http-door.ts";

type AuditRecord = Readonly<Record<string, unknown>>;

const recordsIn = (root: string): readonly AuditRecord[] =>
  readdirSync(join(root, ".llmc/audit"))
    .sort()
    .flatMap((name) =>
      readFileSync(join(root, ".llmc/audit", name), "utf8")
        .trimEnd()
        .split("\n"),
    )
    .map((line) => JSON.parse(line) as AuditRecord);

const refusalsIn = (root: string): readonly string[] =>
  recordsIn(root)
    .filter(({ kind }) => kind === "refusal")
    .map(({ transport, reason, token_name: token = "" }) => `${transport} ${reason} ${token}`.trim());

/** With headers that fetch does not send. */
const ask = (url: string, path: string, headers: readonly string[], body = "{}"): Promise<number> =>
  new Promise((resolve, reject) => {
    const { port, host } = new URL(url);
    const all = headers.some((name) => name === "Host") ? headers : ["Host", host, ...headers];
    const length = ["Content-Type", "application/json", "Content-Length", String(Buffer.byteLength(body))];
    const sent = request({ port, host: "127.0.0.1", path, method: "POST", headers: [...all, ...length] });
    sent.on("response", (answer) => resolve(answer.resume().statusCode ?? 0)).on("error", reject);
    sent.end(body);
  });

const AUTH = ["X-LLMC-Token", TOKEN];

test("REQ-O5 every refusal over HTTP is in the audit, whatever was wrong with the request", async () => {
  await using door = await startHttpDoor({ env: { LLMC_MCP_TOKEN: TOKEN } });
  expect(await ask(door.url, "/tool", ["Host", "evil.example", ...AUTH])).toBe(403);
  expect(await ask(door.url, "/tool", ["Origin", "http://evil.example", ...AUTH])).toBe(403);
  expect(await ask(door.url, "/tool", [...AUTH, "X-LLMC-Token", "x"])).toBe(400);
  expect(await ask(door.url, "/tool", AUTH, '{"session_id":"x","name":"stat","args":{},"z":1}')).toBe(422);
  expect(await ask(door.url, "/tool", ["X-LLMC-Token", "nope"])).toBe(401);
  await expect
    .poll(() => refusalsIn(door.root), { timeout: 5000 })
    .toEqual(["http forbidden", "http forbidden", "http malformed", "http malformed default", "http auth"]);
});

/** What is refused before it is a message, each in a way of its own. */
const MALFORMED = [
  "{broken",
  '{"jsonrpc":"2.0","id":3,"id":4,"method":"ping"}',
  `${"[".repeat(40)}${"]".repeat(40)}`,
  "x".repeat(5000),
];

describe.each([
  ["the front, which passes it on to the core", true],
  ["the one process that there is", false],
])("REQ-O5 REQ-D18 a malformed message is refused by %s", (_who, subprocess) => {
  const args = ["--set", `mcp.subprocess=${subprocess}`, "--set", "mcp.limits.max_frame_bytes=4096"];

  test("broken JSON, a key twice, too deep or too long: each is in the audit, and the session goes on", async () => {
    await using workspace = await createWorkspace({ "a.txt": "a" });
    const server = await workspace.start({ args });
    for (const line of MALFORMED) server.write(`${line}\n`);
    expect((await server.call("read_file", { path: "a.txt" })).isError).not.toBe(true);
    await expect
      .poll(() => refusalsIn(workspace.root), { timeout: 5000 })
      .toEqual(MALFORMED.map(() => "stdio malformed"));
    expect(JSON.stringify(recordsIn(workspace.root))).not.toContain("broken");
  });

  test("also where the input ends with it", async () => {
    await using workspace = await createWorkspace();
    const server = await workspace.start({ args });
    for (const line of MALFORMED) server.write(`${line}\n`);
    expect(await server.stop()).toEqual({ code: 0, signal: null });
    expect(refusalsIn(workspace.root)).toEqual(MALFORMED.map(() => "stdio malformed"));
  });

  test("a thousand of them are a few records that say how many", { timeout: 90_000 }, async () => {
    await using workspace = await createWorkspace();
    const server = await workspace.start({ args });
    for (let i = 0; i < 1000; i++) server.write("{broken\n");
    await server.request("ping");
    await server.stop();
    const refusals = recordsIn(workspace.root).filter(({ kind }) => kind === "refusal");
    expect(refusals.length).toBeLessThan(130);
    expect(refusals.reduce((sum, { count }) => sum + Number(count), 0)).toBe(1000);
  });
});

test("REQ-O5 over stdio no call goes unrecorded, however long its labels and its name are", async () => {
  const workspace = await createWorkspace({ "a.txt": "a", "llmc.toml": "mcp.subprocess = true\n" });
  const server = await workspace.start();
  try {
    const traced = { name: "stat", arguments: { path: "a.txt" }, _meta: { traceparent: "x".repeat(300) } };
    const answer = await server.request("tools/call", traced);
    expect(answer.result?.["isError"]).not.toBe(true);
    await server.request("tools/call", { name: "n".repeat(9000), arguments: {} });
    await expect.poll(() => refusalsIn(workspace.root), { timeout: 5000 }).toEqual(["stdio malformed"]);
    expect(recordsIn(workspace.root).filter(({ tool }) => tool === "stat").length).toBeGreaterThan(0);
  } finally {
    await server.stop();
    await workspace.remove();
  }
});
