import { writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { tempWorkspace } from "../../test/app.ts";
import { type Confinement, createConfinement } from "./confined.ts";

/** Code that has broken out of an interpreter: plain Node, without any option that holds it. */
const BROKEN_OUT = `
import { execFileSync } from "node:child_process";
import { readFileSync, readdirSync, writeFileSync, symlinkSync } from "node:fs";
import { connect } from "node:net";
import { Worker } from "node:worker_threads";
const [secret, port] = process.argv.slice(2);
const attempt = async (work) => { try { return await work() ?? "done"; } catch (error) { return "refused"; } };
const reach = (options) => new Promise((resolve, reject) => connect(options).once("connect", resolve).once("error", reject));
console.log(JSON.stringify({
  secret: await attempt(() => readFileSync(secret, "utf8")),
  folder: await attempt(() => readdirSync(secret.replace(/[^/]*$/, "")).join()),
  home: await attempt(() => readdirSync("/root").join()),
  shadow: await attempt(() => readFileSync("/etc/shadow", "utf8")),
  write: await attempt(() => writeFileSync(secret + ".new", "x")),
  writeTmp: await attempt(() => writeFileSync("/usr/planted", "x")),
  spawn: await attempt(() => execFileSync("/bin/sh", ["-c", "echo started"], { encoding: "utf8" })),
  tcp: await attempt(() => reach({ host: "127.0.0.1", port: Number(port) }).then(() => "connected")),
  kill: await attempt(() => { process.kill(${process.pid}, 0); return "signalled"; }),
  environment: Object.keys(process.env).filter((name) => /SECRET|TOKEN/.test(name)),
}));
`;

const text = (confinement: Confinement, file: string, args: readonly string[]): Promise<string> => {
  const limits = { memoryBytes: 256 * 1024 * 1024, reservedBytes: 1024 * 1024 * 1024 };
  const program = { args: [file, ...args], readable: [file] };
  return confinement.start(program, limits).then(async (started) => {
    const chunks: Buffer[] = [];
    started.onData((chunk) => chunks.push(chunk));
    await started.ended;
    return Buffer.concat(chunks).toString() || started.errors();
  });
};

describe.each(["bubblewrap", "landlock"] as const)("the wall around guests: %s", (tier) => {
  let confinement: Confinement;
  beforeAll(async () => {
    confinement = createConfinement({ tiers: [tier] });
    expect(await confinement.tier()).toBe(tier);
  });
  afterAll(() => confinement.close());

  test("FAIL-G2 REQ-E3: code that broke out reaches no files, no network and no process", async () => {
    const root = tempWorkspace({ "secret.txt": "the-secret" });
    const file = join(tempWorkspace({ "broken-out.mjs": BROKEN_OUT }), "broken-out.mjs");
    let connections = 0;
    const server = createServer(() => connections++).listen(0, "127.0.0.1");
    onTestFinished(() => void server.close());
    await new Promise((resolve) => server.once("listening", resolve));
    const { port } = server.address() as { readonly port: number };
    const shown = await text(confinement, file, [join(root, "secret.txt"), String(port)]);
    expect(JSON.parse(shown)).toEqual({
      secret: "refused",
      folder: "refused",
      home: "refused",
      shadow: "refused",
      write: "refused",
      writeTmp: "refused",
      spawn: "refused",
      tcp: "refused",
      kill: "refused",
      environment: [],
    });
    expect(connections).toBe(0);
  });

  test("FAIL-G2 REQ-E3: memory is bounded from outside", async () => {
    const file = join(tempWorkspace(), "bomb.mjs");
    writeFileSync(file, "const all = []; for (;;) all.push(Buffer.alloc(1e7, 1));");
    const started = await confinement.start(
      { args: [file], readable: [file] },
      { memoryBytes: 200 * 1024 * 1024, reservedBytes: 1024 * 1024 * 1024 },
    );
    await started.ended;
    expect(started.wasOverMemory() || started.errors().length > 0).toBe(true);
  });
});
