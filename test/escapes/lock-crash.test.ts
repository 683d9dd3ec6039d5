import { spawn } from "node:child_process";
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, it } from "vitest";
import { createReach } from "../../src/host/reach/reach.ts";
import { createFiles } from "../../src/host/read/files.ts";
import type { Database } from "../../src/host/state/database/database.ts";
import { createHandles, type Handles, newHandleId } from "../../src/host/state/handles/handles.ts";
import { createLockDb } from "../../src/host/state/lock-db.ts";
import { createLocks } from "../../src/host/state/locks/locks.ts";
import { createStateDb } from "../../src/host/state/state-db.ts";
import { rounds } from "../rounds.ts";
import { USER_STATE } from "../user-state.ts";
import { runOnMount } from "./mount-namespace.ts";

const ME = { principal: "local" };

const MIB = 1024 * 1024;
const script = fileURLToPath(new URL("./lock-child.ts", import.meta.url));
const node = [process.execPath, "--disable-warning=ExperimentalWarning", script] as const;

let workspace: string;
let state: Database;
let handles: Handles;

beforeEach(() => {
  workspace = realpathSync(mkdtempSync(join(tmpdir(), "llmc-crash-")));
  writeFileSync(join(workspace, "counter"), "0");
  state = createStateDb({ workspace, userState: USER_STATE, onWarning: (message) => expect.fail(message) });
  handles = createHandles({
    state,
    files: createFiles(createReach({ workspace, roots: () => ["."], denylist: () => [] })),
    workspace,
    limits: () => ({ ttlSeconds: 86_400, maxTotalBytes: 512 * MIB, maxBytesEach: 64 * MIB }),
    now: Date.now,
    newId: newHandleId,
    pid: process.pid,
  });
});

afterEach(() => {
  state.close();
  rmSync(workspace, { recursive: true, force: true });
});

const one = (query: string): unknown => Object.values(state.read(() => state.sql(query).get()) ?? {})[0];

/** Everything that the program says until it ends; it can be killed some time after its first word. */
const run = async (
  [program, ...args]: readonly [string, ...string[]],
  killAfterMs?: number,
): Promise<string> => {
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      if (output === "" && killAfterMs !== undefined) setTimeout(() => child.kill("SIGKILL"), killAfterMs);
      output += text;
    });
  }
  await new Promise<void>((resolve) => {
    child.once("close", () => resolve()).once("error", () => resolve());
  });
  return output;
};

it("FAIL-D7 processes killed while they store: every handle is whole, and what they left is swept", {
  timeout: 600_000,
}, async () => {
  const announced: string[] = [];
  for (let round = 0; round < rounds(3, 40); round++) {
    const killed = Array.from({ length: 2 }, (_, i) =>
      run([...node, "put", workspace, String(round * 1000 + i)], Math.random() * 400),
    );
    for (const output of await Promise.all(killed)) {
      expect(output).not.toMatch(/warning|Error/);
      announced.push(...output.split("\n").filter((line) => /^h_.{12}$/.test(line)));
    }
    expect(one("PRAGMA integrity_check")).toBe("ok");
  }
  const kept = (await handles.list(ME)).map(({ id }) => id);
  expect(kept).toEqual(expect.arrayContaining(announced));
  expect(announced.length).toBeGreaterThan(0);
  for (const id of kept) {
    const { text, totalLines } = await handles.readLines(ME, id, {
      offsetLines: 0,
      maxLines: 1e6,
      maxBytes: 64 * MIB,
    });
    const [first = "", ...lines] = text.replace(/\n$/, "").split("\n");
    expect(`${totalLines} lines`).toBe(first);
    const [seed] = lines[0]?.split(" ") ?? [];
    expect(lines.every((line, i) => line === `${seed} ${i + 1} ${"x".repeat((i + 1) % 200)}`)).toBe(true);
  }
  const database = createLockDb({
    workspace,
    userState: USER_STATE,
    onWarning: (message) => expect.fail(message),
  });
  const locks = createLocks({
    database,
    workspace,
    settings: () => ({ waitMs: 0, leaseMs: 15_000 }),
    now: Date.now,
    pid: process.pid,
  });
  await locks.hold([join(workspace, "counter")], async () => {});
  await handles.put(ME, "output", "", ["after"]);
  expect(one("SELECT count(*) FROM blobs WHERE sha256 IS NULL")).toBe(0);
  expect(one("SELECT count(*) FROM chunks WHERE blob NOT IN (SELECT blob FROM handles)")).toBe(0);
});

it("a million lines, 100 MB, are stored in little memory", { timeout: 120_000 }, async () => {
  const output = await run([...node, "measure", workspace]);
  const { grownBytes, sizeBytes, lines } = JSON.parse(output);
  expect({ sizeBytes, lines }).toEqual({ sizeBytes: 100_000_000, lines: 10 });
  expect(grownBytes).toBeLessThan(60 * MIB);
});

it("FAIL-D7 a full disk is a clear error, and what was stored before stays whole", () => {
  const mount = 'mount -t tmpfs -o size=8m none "$0"';
  const output = runOnMount(mount, workspace, [...node, "fill", workspace]);
  expect(output).toBe("refused unavailable\nsome kept, ok\n");
});

it("FAIL-D7 a read-only disk is a clear error", () => {
  const mount = 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0"';
  const output = runOnMount(mount, workspace, [...node, "fill", workspace]);
  expect(output).toMatch(/^refused unavailable\n/);
});
