import { type ChildProcess, spawn } from "node:child_process";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, it } from "vitest";
import { LlmcError } from "../../src/base/error.ts";
import { rounds } from "../rounds.ts";
import { openWrites } from "./write-port.ts";

const ROUNDS = rounds(500, 30_000);
/** On a busy machine one side of the race may not have been seen by then. */
const MORE_MS = 300_000;
const AT_ONCE = 4;
// Syncing to a real disk would only make the race slower.
const DISK = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();

let base: string;
let attacker: ChildProcess;
const outside = (...names: string[]): string => join(base, "outside", ...names);

beforeEach(async () => {
  base = realpathSync(mkdtempSync(join(DISK, "llmc-race-")));
  mkdirSync(join(base, "workspace"));
  mkdirSync(outside("tree/sub"), { recursive: true });
  mkdirSync(outside("made/deep"), { recursive: true });
  for (const name of ["file", "log", "mv", "gone", "tree/f", "tree/sub/g"])
    writeFileSync(outside(name), "OUTSIDE");
  const loop = fileURLToPath(new URL("./write-swap-loop.ts", import.meta.url));
  attacker = spawn(process.execPath, [loop, join(base, "workspace"), outside()], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await new Promise((resolve, reject) => {
    attacker.stdout?.once("data", resolve);
    attacker.once("exit", (code) => reject(new Error(`The attacker ended early with ${code}.`)));
  });
});

afterEach(async () => {
  if (attacker.exitCode === null) {
    const ended = new Promise((resolve) => attacker.once("exit", resolve));
    attacker.kill("SIGKILL");
    await ended;
  }
  rmSync(base, { recursive: true, force: true });
});

/** Also what came and went again would show, by the times of the directories. */
const outsideNow = (): string[] =>
  ["", ...readdirSync(outside(), { recursive: true, encoding: "utf8" }).sort()].map((name) => {
    const stats = lstatSync(outside(name), { bigint: true });
    return `${name} ${stats.mode} ${stats.ctimeNs} ${stats.isFile() ? readFileSync(outside(name), "utf8") : ""}`;
  });

it(`FAIL-A3 REQ-D4 changes nothing outside in ${ROUNDS} rounds while links are swapped`, {
  timeout: 1_200_000,
}, async () => {
  const writes = openWrites(join(base, "workspace"));
  const before = outsideNow();
  const outcomes = new Map<string, number>();

  const attempt = async (what: string, work: Promise<unknown>): Promise<void> => {
    const outcome = await work.then(
      () => "done",
      (error: unknown) =>
        error instanceof LlmcError
          ? `${error.code}${error.code === "internal_error" ? String(error.cause) : ""}`
          : `THROWN ${error}`,
    );
    outcomes.set(`${what}: ${outcome}`, (outcomes.get(`${what}: ${outcome}`) ?? 0) + 1);
  };

  const attacks: readonly ((i: number) => Promise<void>)[] = [
    async (i) => {
      for (const path of ["dir/file", "flip/file", "hop/file", "file"]) {
        await attempt(`rewrite ${path}`, writes.rewrite(path, `INSIDE ${i}\n`));
      }
    },
    async (i) => {
      await attempt("append dir/log", writes.append("dir/log", "x"));
      await attempt("append flip/file", writes.append("flip/file", "x"));
      await attempt(
        "update file",
        writes.update("file", (text) => `${text.slice(0, 10)}${i}`),
      );
    },
    async () => {
      await attempt("mkdir flip/made", writes.makeDirs("flip/made/deep", { existOk: true }));
      await attempt("remove flip/made", writes.remove("flip/made", { recursive: true }));
      await attempt("mkdir dir/made", writes.makeDirs("dir/made/deep/er", { existOk: true }));
      await attempt("remove dir/made", writes.remove("dir/made", { recursive: true }));
    },
    async () => {
      await attempt("mkdir flip/tree", writes.makeDirs("flip/tree/sub", { existOk: true }));
      await attempt("rewrite flip/tree/f", writes.rewrite("flip/tree/f", "x"));
      await attempt("move flip/tree", writes.move("flip/tree", "dir/moved-tree"));
      await attempt("remove flip/tree", writes.remove("flip/tree", { recursive: true }));
      await attempt("remove dir/moved-tree", writes.remove("dir/moved-tree", { recursive: true }));
    },
    async () => {
      await attempt("rewrite dir/mv", writes.rewrite("dir/mv", "x"));
      await attempt("move dir/mv", writes.move("dir/mv", "flip/mv"));
      await attempt("move flip/mv", writes.move("flip/mv", "hop/gone"));
      await attempt("remove flip/gone", writes.remove("flip/gone", { recursive: false }));
    },
    async (i) => {
      const changes = [
        { kind: "create", path: `flip/new-${i}/c`, text: "x" },
        { kind: "update", path: "dir/file", change: () => `INSIDE ${i}\n` },
      ] as const;
      await attempt("apply", writes.applyAll(changes, { dryRun: false }));
      await attempt("remove flip/new", writes.remove(`flip/new-${i}`, { recursive: true }));
    },
  ];

  // The race is real only where both sides were seen.
  const BOTH = [
    "rewrite dir/file",
    "rewrite flip/file",
    "rewrite file",
    "append flip/file",
    "mkdir flip/made",
    "remove flip/made",
    "move dir/mv",
    "apply",
  ].flatMap((what) => [`${what}: done`, `${what}: path_denied`]);
  const until = performance.now() + MORE_MS;
  const isOpen = (): boolean => BOTH.some((outcome) => !outcomes.has(outcome)) && performance.now() < until;
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < ROUNDS || isOpen()) {
      const i = next++;
      await attacks[i % attacks.length]?.(i);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));

  expect(outsideNow()).toEqual(before);
  expect(attacker.exitCode).toBeNull();
  expect([...outcomes.keys()].filter((outcome) => /THROWN|internal_error/.test(outcome))).toEqual([]);
  expect([...outcomes.keys()]).toEqual(expect.arrayContaining(BOTH));
});
