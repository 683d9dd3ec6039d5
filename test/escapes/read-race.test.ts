import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { LlmcError } from "../../src/base/error.ts";
import { createLocateByDescriptor } from "../../src/host/reach/locate-by-descriptor.ts";
import { locateByName } from "../../src/host/reach/locate-by-name.ts";
import type { Locate } from "../../src/host/reach/located.ts";
import { createReach } from "../../src/host/reach/reach.ts";
import { createFiles } from "../../src/host/read/files.ts";
import { rounds } from "../rounds.ts";

const ROUNDS = rounds(1500, 50_000);
/** On a busy machine one side of the race may not have been seen by then. */
const MORE_MS = 300_000;
const AT_ONCE = 8;
const REQUEST = { offsetLines: 0, maxLines: 10, maxBytes: 10_000 };
const OUTSIDE = "OUTSIDE-MARK\n".repeat(10);

const WAYS: readonly (readonly [string, Locate])[] = [
  ...(existsSync("/proc/self/fdinfo") ? [["by descriptor", createLocateByDescriptor()] as const] : []),
  ["by name", locateByName],
];

let base: string;
let attacker: ChildProcess;

beforeEach(async () => {
  base = mkdtempSync(join(tmpdir(), "llmc-race-"));
  mkdirSync(join(base, "workspace"));
  mkdirSync(join(base, "outside"));
  writeFileSync(join(base, "outside/file"), OUTSIDE);
  writeFileSync(join(base, "outside/OUTSIDE-NAME"), "");
  const loop = fileURLToPath(new URL("./swap-loop.ts", import.meta.url));
  attacker = spawn(process.execPath, [loop, join(base, "workspace"), join(base, "outside")], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await new Promise((resolve, reject) => {
    attacker.stdout?.once("data", resolve);
    attacker.once("exit", (code) => reject(new Error(`The attacker ended early with ${code}.`)));
  });
});

afterEach(async () => {
  const ended = new Promise((resolve) => attacker.once("exit", resolve));
  attacker.kill("SIGKILL");
  await ended;
  rmSync(base, { recursive: true, force: true });
});

describe.each(WAYS)("reading %s while links are swapped", (_way, locate) => {
  it(`FAIL-A3 REQ-D4 never gives anything of the outside in ${ROUNDS} rounds`, {
    timeout: 600_000,
  }, async () => {
    const files = createFiles(
      createReach({ workspace: join(base, "workspace"), roots: () => ["."], denylist: () => [], locate }),
    );
    const outcomes = new Map<string, number>();

    const attempt = async (what: string, work: () => Promise<unknown>): Promise<void> => {
      const outcome = await work().then(
        (result) => {
          const shown = JSON.stringify(result);
          // stat shows the outside by its size.
          const leaks = shown.includes("OUTSIDE") || shown.includes(`"size":${OUTSIDE.length}`);
          return leaks ? `LEAK ${shown}` : "inside";
        },
        (error: unknown) => (error instanceof LlmcError ? error.code : `THROWN ${error}`),
      );
      outcomes.set(`${what}: ${outcome}`, (outcomes.get(`${what}: ${outcome}`) ?? 0) + 1);
    };

    const round = async (): Promise<void> => {
      for (const path of ["dir/file", "flip/file", "hop/file", "file"]) {
        await attempt(`read ${path}`, () => files.readText(path, REQUEST));
      }
      await attempt("stat dir/file", () => files.stat("dir/file"));
      await attempt("list dir", () => files.list("dir"));
      await attempt("list flip", () => files.list("flip"));
    };

    // The race is real only where both sides were seen.
    const BOTH = ["read dir/file", "read flip/file", "read file", "list dir"].flatMap((what) => [
      `${what}: inside`,
      `${what}: path_denied`,
    ]);
    const until = performance.now() + MORE_MS;
    const isOpen = (): boolean => BOTH.some((outcome) => !outcomes.has(outcome)) && performance.now() < until;
    let left = ROUNDS;
    const reader = async (): Promise<void> => {
      while (left-- > 0 || isOpen()) await round();
    };
    await Promise.all(Array.from({ length: AT_ONCE }, reader));

    const seen = [...outcomes.keys()];
    expect(seen.filter((outcome) => /LEAK|THROWN|internal_error/.test(outcome))).toEqual([]);
    expect(seen).toEqual(expect.arrayContaining(BOTH));
  });
});
