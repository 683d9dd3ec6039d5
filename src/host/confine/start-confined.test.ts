import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { createConnection, createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { confinement } from "./confinement.ts";
import type { Confined, ConfinedProgram, ConfinementTier } from "./contract.ts";
import { openGroups } from "./resource-groups.ts";
import { startConfined } from "./start-confined.ts";
import { type ConfinementOptions, startProcess } from "./start-process.ts";

const LIMITS = { memoryMb: 512, cpuShare: 0.5 };
const KERNEL_TIERS: readonly ConfinementTier[] = ["bubblewrap", "landlock"];

let folder: string;
beforeAll(() => {
  folder = realpathSync.native(mkdtempSync(join(tmpdir(), "llmc-confined-test-")));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let programs = 0;
const programOf = (code: string): string => {
  const file = join(folder, `program-${programs++}.mjs`);
  writeFileSync(file, code);
  return file;
};

const start = (
  code: string,
  wanted: Partial<ConfinedProgram> = {},
  options: ConfinementOptions = {},
): Promise<Confined> =>
  startConfined(
    { program: programOf(code), stdio: ["pipe", "pipe", "pipe"], limits: LIMITS, ...wanted },
    options,
  );

const outputOf = async ({
  child,
  gone,
}: Confined): Promise<{ out: string; errors: string; code: unknown }> => {
  const [out, errors, exit] = await Promise.all([
    text(child.stdout as Readable),
    text(child.stderr as Readable),
    gone,
  ]);
  return { out: out.trim(), errors: errors.trim(), code: exit.code ?? exit.signal };
};

const descriptorsOpen = (): number => readdirSync("/proc/self/fd").length;

describe.each(KERNEL_TIERS)("REQ-I1 a program in the tier %s", (tier) => {
  it("runs with its arguments, its environment and nothing else of ours", async () => {
    const confined = await start(
      "console.log(JSON.stringify([process.argv.slice(2), Object.keys(process.env).sort(), process.cwd()]))",
      { args: ["one", "two words"], env: { GIVEN: "yes" } },
      { tiers: [tier] },
    );
    const { out, errors, code } = await outputOf(confined);
    expect({ errors, code }).toEqual({ errors: "", code: 0 });
    const [args, env] = JSON.parse(out) as [string[], string[]];
    expect(args).toEqual(["one", "two words"]);
    expect(env).toContain("GIVEN");
    expect(
      env.filter((name) => !["GIVEN", "HOME", "LD_LIBRARY_PATH", "OPENSSL_CONF"].includes(name)),
    ).toEqual([]);
    expect(confined.tier).toBe(tier);
  });

  it("reads what it was given, and its own code in several files", async () => {
    const data = join(folder, "data");
    mkdirSync(join(data, "deep"), { recursive: true });
    writeFileSync(join(data, "deep/file.txt"), "knowledge");
    const code = join(folder, `code-${tier}`);
    mkdirSync(code, { recursive: true });
    writeFileSync(join(code, "part.mjs"), "export const part = 'part'");
    writeFileSync(
      join(code, "main.mjs"),
      `import { readFileSync, readdirSync } from "node:fs"; import { part } from "./part.mjs";
       console.log(part, readFileSync(${JSON.stringify(join(data, "deep/file.txt"))}, "utf8"), readdirSync(${JSON.stringify(data)}).join());`,
    );
    const confined = await startConfined(
      {
        program: join(code, "main.mjs"),
        code: [code],
        readable: [data],
        stdio: ["ignore", "pipe", "pipe"],
        limits: LIMITS,
      },
      { tiers: [tier] },
    );
    expect(await outputOf(confined)).toEqual({ out: "part knowledge deep", errors: "", code: 0 });
  });

  it("accepts connections on a listener that it inherited", async () => {
    const server: Server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const { fd } = Reflect.get(server, "_handle") as { fd: number };
    const confined = await start(
      `import { createServer } from "node:net";
       createServer((socket) => socket.end("from inside")).listen({ fd: 3 }, () => console.log("ready"));`,
      { stdio: ["ignore", "pipe", "inherit", fd] },
      { tiers: [tier] },
    );
    await once(confined.child.stdout as Readable, "data");
    const { port } = server.address() as { port: number };
    server.close();
    const client = createConnection(port, "127.0.0.1");
    expect(await text(client)).toBe("from inside");
    confined.kill();
    expect(await confined.gone).toMatchObject({ signal: "SIGKILL" });
  });

  it("gets connections that were made outside, over an IPC channel", async () => {
    const path = join(folder, `link-${tier}.sock`);
    const server = createServer((socket) => socket.once("data", () => socket.end("the core"))).listen(path);
    await once(server, "listening");
    const confined = await start(
      `process.once("message", (message, socket) => {
         socket.write("who is there?");
         socket.on("data", (data) => { console.log(message, String(data)); process.disconnect(); });
       });`,
      { stdio: ["ignore", "pipe", "inherit", "ipc"] },
      { tiers: [tier] },
    );
    const socket = createConnection(path);
    await once(socket, "connect");
    confined.child.send("link", socket);
    expect((await text(confined.child.stdout as Readable)).trim()).toBe("link the core");
    await confined.gone;
    server.close();
  });

  it("ends at once when it is killed, and leaves no descriptor and no control group", async () => {
    await (await start("", {}, { tiers: [tier] })).gone;
    const before = descriptorsOpen();
    for (let round = 0; round < 5; round++) {
      const confined = await start("setInterval(() => {}, 1000)", {}, { tiers: [tier] });
      confined.kill();
      expect(await confined.gone).toMatchObject({ code: null, signal: "SIGKILL" });
      expect(() => process.kill(confined.pid, 0)).toThrow("ESRCH");
      for (const stream of confined.child.stdio) stream?.destroy();
    }
    await expect.poll(descriptorsOpen).toBeLessThanOrEqual(before);
  });

  it("keeps what it wrote although it ended before anybody read", async () => {
    const confined = await start("console.log('done')", {}, { tiers: [tier] });
    expect((await outputOf(confined)).out).toBe("done");
  });

  it("is asked to stop, and ended when it does not", async () => {
    const polite = await start(
      "process.on('SIGTERM', () => process.exit(7)); console.log('on'); setInterval(() => {}, 1000)",
      {},
      { tiers: [tier] },
    );
    await once(polite.child.stdout as Readable, "data");
    await polite.stop();
    expect(await polite.gone).toMatchObject({ code: 7, signal: null });
    const stubborn = await start(
      "process.on('SIGTERM', () => {}); console.log('on'); setInterval(() => {}, 1000)",
      {},
      { tiers: [tier] },
    );
    await once(stubborn.child.stdout as Readable, "data");
    await stubborn.stop(50);
    expect(await stubborn.gone).toMatchObject({ code: null, signal: "SIGKILL" });
  });

  it("without control groups, has its memory held by RLIMIT_DATA and still runs", async () => {
    const confined = await start(
      "const kept = []; process.on('uncaughtException', ({ code }) => { console.log(code); process.exit(3); });\n" +
        "for (let count = 0; count < 60; count++) kept.push(Buffer.alloc(10_000_000, 1)); console.log('took 600 MB');",
      {},
      { tiers: [tier], usesGroups: false },
    );
    expect(confined.held.memory).toEqual({ byKernel: true, mechanism: "RLIMIT_DATA of 512 MiB" });
    expect(await outputOf(confined)).toMatchObject({ out: "ERR_MEMORY_ALLOCATION_FAILED", code: 3 });
  });

  it("cannot start threads without end, which bounded memory alone would allow", async () => {
    const confined = await start(
      `import { Worker } from "node:worker_threads";
       for (let count = 1; count <= 40; count++) {
         const worker = new Worker("setInterval(() => {}, 1000)", { eval: true });
         await new Promise((done, failed) => worker.once("online", done).once("error", failed))
           .catch(({ code }) => { console.log(code); process.exit(4); });
       }
       console.log("40 threads"); process.exit(0);`,
      { nodeFlags: ["--allow-worker"], limits: { ...LIMITS, memoryMb: 1024, threads: 20 } },
      { tiers: [tier] },
    );
    const groups = openGroups(64, 0.5, 20);
    await groups.remove();
    const { out } = await outputOf(confined);
    // Without a group, the threads of the whole machine are the measure.
    expect(out === "40 threads").toBe(groups.threads === undefined);
  });

  it("Node's own permissions are on top: fs, net and child_process refuse before the kernel does", async () => {
    const confined = await start(
      `import { readFileSync, writeFileSync } from "node:fs"; import { spawnSync } from "node:child_process";
       import { Worker } from "node:worker_threads";
       const codeOf = (work) => { try { work(); return "allowed"; } catch ({ code }) { return code; } };
       console.log([() => readFileSync("/etc/passwd"), () => writeFileSync("/tmp/x", ""), () => spawnSync("true"),
         () => new Worker("", { eval: true })].map(codeOf).join());`,
      {},
      { tiers: [tier] },
    );
    expect((await outputOf(confined)).out).toBe(Array(4).fill("ERR_ACCESS_DENIED").join());
  });
});

describe("REQ-I2 what is held", () => {
  it("is said beforehand, as it then is", async () => {
    const before = await confinement(LIMITS);
    const confined = await start("");
    await confined.gone;
    expect({ tier: before.tier, held: before.held }).toEqual({ tier: confined.tier, held: confined.held });
    expect(before.missing).toEqual([]);
    expect(before.hint).toBeUndefined();
  });

  it("FAIL-H4 required but not to be had: refuses to start, with what to install", async () => {
    const refused = start(
      "console.log('ran')",
      {},
      { tiers: ["permission"], isRequired: true, usesGroups: false },
    );
    await expect(refused).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringMatching(/does not hold: files .*network .*processes .*memory/),
      hint: expect.stringMatching(/bubblewrap/),
    });
  });

  it("FAIL-H4 a tier that worked once is never left for a weaker one", async () => {
    expect((await (await start("", {}, { tiers: ["bubblewrap"] })).gone).code).toBe(0);
    const file = "/bin/true";
    const missing = { path: "/not-there/lib.so", real: "/not-there/lib.so" };
    const started = startProcess({
      wanted: { limits: LIMITS },
      files: { file, libraries: [missing], libraryFolders: [] },
      resolved: { program: file, readable: [] },
      plan: () => ({ argv: [file], dataMb: undefined, isExact: true }),
    });
    await expect(started).rejects.toMatchObject({
      code: "unavailable",
      cause: expect.not.stringContaining("landlock"),
    });
  });

  it("FAIL-H4 left out: the next tier is tried, and Node's permissions are the last", async () => {
    // In these tiers it runs while it is being bounded, and Node drops what nobody reads when a child has ended.
    const program = "setTimeout(() => console.log('ran'), 1000)";
    const confined = await start(program, {}, { tiers: ["seatbelt", "permission"] });
    expect(confined.tier).toBe("permission");
    expect((await outputOf(confined)).out).toBe("ran");
    expect(confined.held.files).toEqual({ byKernel: false, mechanism: "Node's permission model" });
  });
});

it("FAIL-H2 a confined program ends with the process that started it, killed or not", async () => {
  const parent = programOf(
    `import { startConfined } from ${JSON.stringify(join(import.meta.dirname, "start-confined.ts"))};
     const confined = await Promise.all(${JSON.stringify(KERNEL_TIERS)}.map((tier) => startConfined(
       { program: process.argv[2], limits: { memoryMb: 512, cpuShare: 0.5 } }, { tiers: [tier] })));
     console.log(confined.map(({ pid }) => pid).join()); setInterval(() => {}, 1000);`,
  );
  const child = spawn(process.execPath, [parent, programOf("setInterval(() => {}, 1000)")], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  const pids = String(line).trim().split(",").map(Number);
  expect(pids).toHaveLength(2);
  for (const pid of pids) process.kill(pid, 0);
  child.kill("SIGKILL");
  for (const pid of pids)
    await expect
      .poll(() => {
        try {
          return process.kill(pid, 0);
        } catch {
          return false;
        }
      })
      .toBe(false);
});
