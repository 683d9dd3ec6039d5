import { spawn } from "node:child_process";
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ownState, USER_STATE } from "../../../test/user-state.ts";
import type { Database } from "./database/database.ts";
import { createStateDb } from "./state-db.ts";

let workspace: string;
let path: string;
let state: Database;
let warnings: string[];

const make = (): Database =>
  createStateDb({ workspace, userState: USER_STATE, onWarning: (message) => warnings.push(message) });

beforeEach(() => {
  workspace = realpathSync(mkdtempSync(join(tmpdir(), "llmc-state-")));
  path = ownState(workspace, "state.db");
  warnings = [];
  state = make();
});

afterEach(() => {
  state.close();
  rmSync(workspace, { recursive: true, force: true });
});

const module = fileURLToPath(new URL("./state-db.ts", import.meta.url));

const run = async (code: string): Promise<{ readonly exit: unknown; readonly output: string }> => {
  const args = ["--disable-warning=ExperimentalWarning", "--input-type=module", "-e", code];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  }
  const exit = await new Promise((resolve) => child.once("close", resolve));
  return { exit, output };
};

const addHandle = (db: Database, id: string): void =>
  db.transact(() => {
    db.sql(
      "INSERT INTO handles (id, principal, kind, source, created, expires, blob, file_version) VALUES (?, 'local', 'output', '', 0, 0, NULL, NULL)",
    ).run(id);
  });
const handleIds = (db: Database): unknown[] =>
  db.read(() => db.sql("SELECT id FROM handles ORDER BY id").all()).map(({ id }) => id);

describe("the file", () => {
  it("is made on first use, and nobody else may read it", () => {
    expect(state.exists()).toBe(false);
    expect(existsSync(join(workspace, ".llmc"))).toBe(false);
    expect(handleIds(state)).toEqual([]);
    expect(state.exists()).toBe(true);
    expect(statSync(join(workspace, ".llmc")).mode & 0o777).toBe(0o700);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(statSync(`${path}-wal`).mode & 0o777).toBe(0o600);
  });

  it("keeps what was written for the next process", () => {
    addHandle(state, "a");
    state.close();
    expect(handleIds(make())).toEqual(["a"]);
    expect(handleIds(state)).toEqual(["a"]);
  });

  it("is made again where somebody removed it, without a restart", () => {
    addHandle(state, "a");
    rmSync(join(workspace, ".llmc"), { recursive: true });
    expect(handleIds(state)).toEqual([]);
    const other = make();
    addHandle(other, "b");
    other.close();
    expect(handleIds(state)).toEqual(["b"]);
    expect(warnings).toEqual([]);
  });

  it("FAIL-J2 is never a link to another file: that is moved aside", () => {
    mkdirSync(ownState(workspace), { recursive: true, mode: 0o700 });
    writeFileSync(join(workspace, "elsewhere"), "");
    symlinkSync(join(workspace, "elsewhere"), path);
    expect(handleIds(state)).toEqual([]);
    expect(statSync(join(workspace, "elsewhere")).size).toBe(0);
    expect(warnings).toEqual([expect.stringContaining("state.db.refused-")]);
  });

  it("FAIL-D7 says so where it cannot be made", () => {
    writeFileSync(join(workspace, ".llmc"), "");
    expect(state.exists()).toBe(false);
    expect(() => state.db()).toThrow(expect.objectContaining({ code: "unavailable" }));
  });

  it("of a newer version is refused and left alone", () => {
    state.db().exec("PRAGMA user_version = 99");
    state.close();
    expect(() => state.db()).toThrow(expect.objectContaining({ code: "unavailable" }));
    expect(warnings).toEqual([]);
  });
});

describe("FAIL-D7 a damaged file", () => {
  const quarantined = (): string[] =>
    readdirSync(ownState(workspace)).filter((name) => /\.corrupt-[^-]+-[^-]+-[^-]+$/.test(name));

  it.each([
    ["is no database", () => writeFileSync(path, "x".repeat(10_000))],
    ["ends too early", () => truncateSync(path, 5000)],
    [
      "lacks tables",
      () => {
        const other = make();
        other.db().exec("DROP TABLE te_calls");
        other.close();
      },
    ],
  ])("that %s is moved aside, with a warning", (_what, damage) => {
    addHandle(state, "a");
    state.close();
    damage();
    expect(handleIds(state)).toEqual([]);
    addHandle(state, "b");
    expect(handleIds(make())).toEqual(["b"]);
    expect(quarantined()).toHaveLength(1);
    expect(warnings).toEqual([expect.stringContaining("state.db.corrupt-")]);
  });

  it("is noticed while it is open: one call fails, the next works, for everybody", () => {
    addHandle(state, "a");
    state.db().exec("PRAGMA wal_checkpoint(TRUNCATE)");
    const other = make();
    other.db();
    const file = openSync(path, "r+");
    writeSync(file, Buffer.alloc(statSync(path).size - 4096, 7), 0, undefined, 4096);
    closeSync(file);
    expect(() => handleIds(other)).toThrow(expect.objectContaining({ code: "unavailable", retryable: true }));
    addHandle(other, "b");
    expect(handleIds(state)).toEqual(["b"]);
    expect(quarantined()).toHaveLength(1);
    expect(warnings).toHaveLength(1);
    other.close();
  });
});

describe("a transaction", () => {
  it("happens whole or not at all", () => {
    expect(() =>
      state.transact(() => {
        state
          .sql(
            "INSERT INTO handles (id, principal, kind, source, created, expires, blob, file_version) VALUES ('a', 'local', 'output', '', 0, 0, NULL, NULL)",
          )
          .run();
        throw new Error("no");
      }),
    ).toThrow("no");
    expect(handleIds(state)).toEqual([]);
  });

  it("waits for another writer a bounded time, then is refused as busy, and never runs twice", async () => {
    const other = make();
    other.db().exec("BEGIN IMMEDIATE");
    let runs = 0;
    const work = (): number => ++runs;
    expect(() => state.transact(work, 50)).toThrow(
      expect.objectContaining({ code: "busy", retryable: true }),
    );
    const soon = state.transactSoon(work);
    const stop = new AbortController();
    const stopped = state.transactSoon(work, stop.signal);
    setTimeout(() => stop.abort(), 20);
    await expect(stopped).rejects.toMatchObject({ code: "cancelled" });
    expect(runs).toBe(0);
    other.db().exec("COMMIT");
    expect(await soon).toBe(1);
    other.close();
  });

  it("of many processes that start at once all count", async () => {
    const code = `
      import { createStateDb } from ${JSON.stringify(module)};
      const state = createStateDb({ workspace: ${JSON.stringify(workspace)}, userState: ${JSON.stringify(USER_STATE)}, onWarning: (m) => { throw new Error(m); } });
      for (let i = 0; i < 20; i++) await state.transactSoon(() =>
        state.sql("INSERT INTO handles (id, principal, kind, source, created, expires, blob, file_version) VALUES (?, 'local', 'output', '', 0, 0, NULL, NULL)").run(process.pid + "-" + i));`;
    const ends = await Promise.all(Array.from({ length: 6 }, () => run(code)));
    for (const end of ends) expect(end).toEqual({ exit: 0, output: "" });
    expect(handleIds(state)).toHaveLength(120);
  });
});

it("a program that keeps nothing does not load SQLite", async () => {
  const { exit, output } = await run(`
    import { createStateDb } from ${JSON.stringify(module)};
    const state = createStateDb({ workspace: ${JSON.stringify(workspace)}, userState: ${JSON.stringify(USER_STATE)}, onWarning: () => {} });
    const isLoaded = () => process.moduleLoadList.some((name) => name.endsWith(" sqlite"));
    console.log(state.exists(), isLoaded());
    state.db();
    console.log(state.exists(), isLoaded());`);
  expect({ exit, output }).toEqual({ exit: 0, output: "false false\ntrue true\n" });
});
