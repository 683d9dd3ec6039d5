import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { tempWorkspace } from "../../test/app.ts";
import { createGuestStarter } from "./start-guest.ts";

/** Code that has broken out of an interpreter: plain Node. */
const brokenOut = (secret: string, port: number): string => `
import { execFileSync } from "node:child_process";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { Worker } from "node:worker_threads";
const secret = ${JSON.stringify(secret)};
const attempt = async (work) => { try { return await work() ?? "done"; } catch (error) { return "refused"; } };
const reach = (options) => new Promise((resolve, reject) => connect(options).once("connect", resolve).once("error", reject));
console.log(JSON.stringify({
  secret: await attempt(() => readFileSync(secret, "utf8")),
  folder: await attempt(() => readdirSync(secret.replace(/[^/]*$/, "")).join()),
  home: await attempt(() => readdirSync("/root").join()),
  users: await attempt(() => readFileSync("/etc/passwd", "utf8")),
  programs: await attempt(() => readdirSync("/usr/bin").join()),
  write: await attempt(() => writeFileSync(secret + ".new", "x")),
  writeSystem: await attempt(() => writeFileSync("/usr/planted", "x")),
  spawn: await attempt(() => execFileSync("/bin/sh", ["-c", "echo started"], { encoding: "utf8" })),
  worker: await attempt(() => new Worker("1", { eval: true })),
  tcp: await attempt(() => reach({ host: "127.0.0.1", port: ${port} }).then(() => "connected")),
  kill: await attempt(() => { process.kill(${process.pid}, 0); return "signalled"; }),
  environment: Object.keys(process.env).filter((name) => /SECRET|TOKEN|PATH$/.test(name) && name !== "LD_LIBRARY_PATH"),
}));
`;

const MIB = 1024 * 1024;

const startFile = (start: ReturnType<typeof createGuestStarter>, code: string) => {
  const program = join(tempWorkspace({ "guest.mjs": code }), "guest.mjs");
  return start({ program, settings: { memoryBytes: 64 * MIB }, files: [], runtimeMb: 192 });
};

describe.each([
  ["bubblewrap", true],
  ["bubblewrap", false],
  ["landlock", true],
  ["landlock", false],
] as const)("the wall around guests: %s, control groups: %s", (tier, usesGroups) => {
  const start = createGuestStarter({ isIsolated: () => false, tiers: [tier], usesGroups });

  test("FAIL-G2 REQ-E3: code that broke out reaches no files, no network and no process", async () => {
    const root = tempWorkspace({ "secret.txt": "the-secret" });
    let connections = 0;
    const server = createServer(() => connections++).listen(0, "127.0.0.1");
    onTestFinished(() => void server.close());
    await new Promise((resolve) => server.once("listening", resolve));
    const { port } = server.address() as { readonly port: number };
    const started = await startFile(start, brokenOut(join(root, "secret.txt"), port));
    const chunks: Buffer[] = [];
    started.onData((chunk) => chunks.push(chunk));
    await started.ended;
    const shown = JSON.parse(Buffer.concat(chunks).toString() || started.errors()) as Record<string, unknown>;
    const { environment, ...attempts } = shown;
    expect(environment).toEqual([]);
    expect(Object.entries(attempts).filter(([, answer]) => answer !== "refused")).toEqual([]);
    expect(Object.keys(attempts).length).toBe(11);
    expect(connections).toBe(0);
  });

  test("FAIL-G2 REQ-E3: memory is bounded from outside", async () => {
    const bomb = "const all = []; for (;;) all.push(Buffer.alloc(1e7, 1));";
    const started = await startFile(start, bomb);
    await started.ended;
    if (usesGroups) expect(started.wasOverMemory()).toBe(true);
    else expect(started.errors()).toMatch(/allocation failed|allocate memory|out of memory/);
  });
});

test("REQ-D8: without a sandbox of ours nothing runs, unless the operator trusts the container", async () => {
  const code = "console.log(1)";
  const refused = startFile(createGuestStarter({ isIsolated: () => false, tiers: [] }), code);
  await expect(refused).rejects.toMatchObject({
    code: "unavailable",
    hint: expect.stringContaining("bubblewrap"),
  });
  const trusted = await startFile(createGuestStarter({ isIsolated: () => true, tiers: [] }), code);
  await trusted.ended;
  expect(trusted.errors()).toBe("");
});
