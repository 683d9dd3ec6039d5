import { execFileSync, spawn } from "node:child_process";
import {
  chmodSync,
  chownSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openSecretKey } from "../../src/host/own-files/secret-key.ts";
import { makeStateFolder } from "../../src/host/own-files/state-folder.ts";
import type { Database } from "../../src/host/state/database/database.ts";
import { createIndexDb } from "../../src/host/state/index-db.ts";
import { createStateDb } from "../../src/host/state/state-db.ts";
import { openTestApp } from "../app.ts";

const isRoot = process.getuid?.() === 0;
const STRANGER = 65_534;
/** A workspace whose state folder is root's: only root can make one for an ordinary user (vitest.config.ts). */
const FOREIGN_WORKSPACE = process.env["LLMC_TEST_FOREIGN_WORKSPACE"];

let base: string;
let workspace: string;
let userState: string;
let warnings: string[];
const opened: Database[] = [];

const onWarning = (message: string): void => void warnings.push(message);
const at = (...names: string[]): string => join(workspace, ".llmc", ...names);

const openState = (): Database => {
  const state = createStateDb({ workspace, userState, onWarning });
  opened.push(state);
  return state;
};
const openIndex = (): Database => {
  const tables = "CREATE TABLE things (name TEXT)";
  const db = createIndexDb({ workspace, userState, tables, version: 7, onWarning });
  opened.push(db);
  return db;
};
const addHandle = (state: Database, id: string): void =>
  state.transact(() => {
    state
      .sql(
        "INSERT INTO handles (id, principal, kind, source, created, expires, blob, file_version) VALUES (?, 'local', 'output', '', 0, 0, NULL, NULL)",
      )
      .run(id);
  });
const handles = (state: Database): unknown[] =>
  state.read(() => state.sql("SELECT id FROM handles").all()).map(({ id }) => id);
const things = (index: Database): unknown[] =>
  index.read(() => index.sql("SELECT name FROM things").all()).map(({ name }) => name);
const addThing = (index: Database, name: string): void =>
  index.transact(() => void index.sql("INSERT INTO things VALUES (?)").run(name));

beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), "llmc-own-state-")));
  workspace = join(base, "workspace");
  userState = join(base, "user", "state", "llmc");
  mkdirSync(workspace);
  warnings = [];
});

afterEach(() => {
  for (const db of opened.splice(0)) db.close();
  rmSync(base, { recursive: true, force: true });
});

const run = async (code: string): Promise<string> => {
  const args = ["--disable-warning=ExperimentalWarning", "--input-type=module", "-e", code];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => {
      said += text;
    });
  await new Promise((resolve) => child.once("close", resolve));
  return said;
};
const urlOf = (path: string): string => JSON.stringify(fileURLToPath(new URL(path, import.meta.url)));

describe("FAIL-J2 REQ-D22: the state folder", () => {
  test("is made for its owner alone, and git ignores it", () => {
    handles(openState());
    expect(statSync(at()).mode & 0o777).toBe(0o700);
    expect(readFileSync(at(".gitignore"), "utf8")).toBe("*\n");
  });

  test.each<[string, () => void, string]>([
    [
      "a link",
      () => {
        mkdirSync(join(base, "elsewhere"));
        symlinkSync(join(base, "elsewhere"), at());
      },
      "is a link",
    ],
    ["a file", () => writeFileSync(at(), ""), "is not a folder"],
    ["a FIFO", () => execFileSync("mkfifo", [at()]), "is not a folder"],
    [
      "writable by everybody",
      () => {
        mkdirSync(at());
        chmodSync(at(), 0o777);
      },
      "can be written by other users",
    ],
    [
      "writable by its group",
      () => {
        mkdirSync(at());
        chmodSync(at(), 0o770);
      },
      "can be written by other users",
    ],
  ])("that is %s is refused, and the index lives in memory", (_what, plant, reason) => {
    plant();
    const before = lstatSync(at()).ino;
    expect(() => openState().db()).toThrow(expect.objectContaining({ code: "unavailable" }));
    expect(() => openState().db()).toThrow(reason);
    const index = openIndex();
    addThing(index, "a");
    expect(things(index)).toEqual(["a"]);
    expect(index.isKept()).toBe(false);
    expect(warnings.join()).toContain(reason);
    expect(lstatSync(at()).ino).toBe(before);
    expect(existsSync(join(base, "elsewhere", "state.db"))).toBe(false);
  });

  if (isRoot || FOREIGN_WORKSPACE !== undefined) {
    test("of another user is refused, also for root", () => {
      if (FOREIGN_WORKSPACE === undefined) {
        mkdirSync(at());
        chownSync(at(), STRANGER, STRANGER);
      } else workspace = FOREIGN_WORKSPACE;
      expect(() => openState().db()).toThrow("belongs to another user");
      expect(readdirSync(at())).toEqual([]);
    });
  }

  test("swapped for a link while it is in use is refused", () => {
    const state = openState();
    addHandle(state, "a");
    renameSync(at(), join(base, "moved"));
    symlinkSync(join(base, "moved"), at());
    expect(() => openState().db()).toThrow("is a link");
  });
});

describe("FAIL-J6: in the place of a database", () => {
  const others = (name: string): string[] => readdirSync(at()).filter((each) => each.startsWith(`${name}.`));
  const outside = (): string => join(base, "outside");

  const kinds: readonly (readonly [string, (path: string) => void])[] = [
    ["a FIFO", (path) => void execFileSync("mkfifo", [path])],
    ["a folder", (path) => mkdirSync(path)],
    [
      "a link to a file outside",
      (path) => {
        writeFileSync(outside(), "mine");
        symlinkSync(outside(), path);
      },
    ],
    ["a link to a device", (path) => symlinkSync("/dev/zero", path)],
    [
      "a hard link",
      (path) => {
        writeFileSync(outside(), "mine");
        linkSync(outside(), path);
      },
    ],
    ...(isRoot
      ? ([
          [
            "a file of another user",
            (path: string) => {
              writeFileSync(path, "");
              chownSync(path, STRANGER, STRANGER);
            },
          ],
        ] as const)
      : []),
  ];

  test.each(
    kinds.flatMap(([what, plant]) =>
      ["", "-wal", "-shm"].map((suffix) => [what, suffix === "" ? "itself" : suffix, plant, suffix] as const),
    ),
  )("%s (%s) is moved aside and never opened", (_what, _where, plant, suffix) => {
    makeStateFolder(workspace).close();
    plant(at(`state.db${suffix}`));
    plant(at(`index.db${suffix}`));
    const start = performance.now();
    const state = openState();
    addHandle(state, "a");
    expect(handles(state)).toEqual(["a"]);
    const index = openIndex();
    addThing(index, "b");
    expect(things(index)).toEqual(["b"]);
    expect(performance.now() - start).toBeLessThan(3000);
    expect(others(`state.db${suffix}`)).toHaveLength(1);
    if (existsSync(outside())) expect(readFileSync(outside(), "utf8")).toBe("mine");
    expect(warnings).not.toEqual([]);
  });
});

describe("FAIL-J2 REQ-D22: a database that llmc did not make", () => {
  const forge = (name: string, sql: string): void => {
    makeStateFolder(workspace).close();
    const db = new DatabaseSync(at(name));
    db.exec(sql);
    db.close();
  };
  const aside = (name: string): string[] =>
    readdirSync(at()).filter((each) => each.startsWith(`${name}.`) && !/-(wal|shm)$/.test(each));

  /** A real one, made with another key: what a repository can bring along. */
  const plantReal = (): void => {
    const theirs = createStateDb({ workspace, userState: join(base, "their-state"), onWarning });
    addHandle(theirs, "theirs");
    theirs.close();
    const index = createIndexDb({
      ...{ workspace, userState: join(base, "their-state"), onWarning },
      ...{ tables: "CREATE TABLE things (name TEXT)", version: 7 },
    });
    addThing(index, "theirs");
    index.close();
  };

  test("and signed with another key is set aside; the index is built from nothing", () => {
    plantReal();
    expect(handles(openState())).toEqual([]);
    expect(things(openIndex())).toEqual([]);
    expect(warnings[0]).toContain("state.db.unsigned-");
    expect(aside("state.db")).toHaveLength(1);
    expect(handles(openState())).toEqual([]);
    expect(warnings).toHaveLength(2);
  });

  test("and carried over from another workspace is set aside", () => {
    addHandle(openState(), "mine");
    for (const db of opened.splice(0)) db.close();
    const first = workspace;
    workspace = join(base, "second");
    mkdirSync(workspace);
    execFileSync("cp", ["-a", join(first, ".llmc"), workspace]);
    expect(handles(openState())).toEqual([]);
    workspace = first;
    expect(handles(openState())).toEqual(["mine"]);
  });

  test.each([
    ["of an earlier version", "CREATE TABLE leases (x); PRAGMA user_version = 2"],
    ["with a view for a mark", "CREATE VIEW llmc_mark AS SELECT 'state.db' AS kind, x'00' AS signature"],
    [
      "with a mark of its own",
      "CREATE TABLE llmc_mark (kind, signature); INSERT INTO llmc_mark VALUES ('state.db', x'00')",
    ],
    [
      "with triggers",
      "CREATE TABLE handles (id); CREATE TRIGGER t AFTER INSERT ON handles BEGIN DELETE FROM handles; END",
    ],
  ])("%s is set aside unchanged", (_what, sql) => {
    forge("state.db", sql);
    const before = readFileSync(at("state.db"));
    const state = openState();
    addHandle(state, "a");
    expect(handles(state)).toEqual(["a"]);
    const [name = ""] = aside("state.db");
    expect(name).toContain("unsigned");
    expect(readFileSync(at(name)).equals(before)).toBe(true);
  });

  test("is set aside once by processes that start together, and all go on with one new database", async () => {
    plantReal();
    const code = `
      import { createStateDb } from ${urlOf("../../src/host/state/state-db.ts")};
      const state = createStateDb({ workspace: ${JSON.stringify(workspace)}, userState: ${JSON.stringify(userState)}, onWarning: () => {} });
      for (let i = 0; i < 10; i++) await state.transactSoon(() =>
        state.sql("INSERT INTO handles (id, principal, kind, source, created, expires, blob, file_version) VALUES (?, 'local', 'output', '', 0, 0, NULL, NULL)").run(process.pid + "-" + i));`;
    const said = await Promise.all(Array.from({ length: 6 }, () => run(code)));
    expect(said.join("")).toBe("");
    expect(handles(openState())).toHaveLength(60);
    expect(aside("state.db")).toHaveLength(1);
  });
});

describe("REQ-D22: the key", () => {
  test("lies in the user's folder, for its owner alone", () => {
    openSecretKey(userState);
    expect(statSync(userState).mode & 0o777).toBe(0o700);
    expect(statSync(join(userState, "key"))).toMatchObject({ size: 32 });
    expect(statSync(join(userState, "key")).mode & 0o777).toBe(0o600);
    expect(readdirSync(userState)).toEqual(["key"]);
  });

  test("is one, also where many processes make it at once", async () => {
    const code = `
      import { openSecretKey } from ${urlOf("../../src/host/own-files/secret-key.ts")};
      import { makeStateFolder } from ${urlOf("../../src/host/own-files/state-folder.ts")};
      makeStateFolder(${JSON.stringify(workspace)}).close();
      console.log(openSecretKey(${JSON.stringify(userState)}).sign("x").toString("hex"));`;
    const said = await Promise.all(Array.from({ length: 8 }, () => run(code)));
    expect(new Set(said).size).toBe(1);
    expect(said[0]).toMatch(/^[0-9a-f]{64}\n$/);
    expect(readdirSync(userState)).toEqual(["key"]);
    expect(readdirSync(at())).toEqual([".gitignore"]);
  });

  test.each<[string, () => void]>([
    ["a link", () => symlinkSync("/dev/zero", join(userState, "key"))],
    ["a FIFO", () => execFileSync("mkfifo", ["-m", "600", join(userState, "key")])],
    ["too short", () => writeFileSync(join(userState, "key"), "x", { mode: 0o600 })],
    ["too long", () => writeFileSync(join(userState, "key"), "x".repeat(33), { mode: 0o600 })],
    ["readable by others", () => writeFileSync(join(userState, "key"), "x".repeat(32), { mode: 0o644 })],
  ])("that is %s is refused at once, with the folder's name", (_what, plant) => {
    mkdirSync(userState, { recursive: true, mode: 0o700 });
    plant();
    expect(() => openState().db()).toThrow(userState);
    expect(() => openState().db()).toThrow(expect.objectContaining({ code: "unavailable" }));
  });
});

test("REQ-D22: a journal that llmc did not write is refused, and the log says what happened to it", async () => {
  const record = ".llmc/journal/0123456789abcdef.json";
  const app = await openTestApp({ files: { "a.txt": "one\n", [record]: '{"steps":[]}\n' } });
  await app.text("linux_fs_write", { path: "b.txt", content: "two\n" });
  await expect
    .poll(() => app.logs())
    .toContain("did not write; they were not applied, but renamed to *.refused");
  expect(existsSync(join(app.root, `${record}.refused`))).toBe(true);
});
