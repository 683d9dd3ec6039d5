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
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openSecretKey } from "../../src/host/own-files/secret-key.ts";
import { makeStateFolder, stateFolderPath } from "../../src/host/own-files/state-folder.ts";
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
const location = () => ({ workspace, key: openSecretKey(userState) });
const own = (...names: string[]): string => join(stateFolderPath(location()), ...names);

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
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  await new Promise((resolve) => child.once("close", resolve));
  return output;
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
  const others = (name: string): string[] => readdirSync(own()).filter((each) => each.startsWith(`${name}.`));
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
    makeStateFolder(location()).close();
    plant(own(`state.db${suffix}`));
    plant(own(`index.db${suffix}`));
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

/** A log in which SQLite finds every page of that database, valid for whatever database lies beside it. */
const walOf = (database: string): Buffer => {
  const bytes = readFileSync(database);
  const pageBytes = bytes.readUInt16BE(16);
  const pages = bytes.length / pageBytes;
  let sums: readonly [number, number] = [0, 0];
  const summed = (part: Buffer): Buffer => {
    let [one, two] = sums;
    for (let i = 0; i < part.length; i += 8) {
      one = (one + part.readUInt32LE(i) + two) >>> 0;
      two = (two + part.readUInt32LE(i + 4) + one) >>> 0;
    }
    sums = [one, two];
    return part;
  };
  const uint32s = (...values: readonly number[]): Buffer => {
    const buffer = Buffer.alloc(values.length * 4);
    values.forEach((value, i) => void buffer.writeUInt32BE(value, i * 4));
    return buffer;
  };
  const salts = [0x1111_1111, 0x2222_2222];
  const parts = [summed(uint32s(0x377f_0682, 3_007_000, pageBytes, 0, ...salts)), uint32s(...sums)];
  for (let page = 1; page <= pages; page++) {
    const head = summed(uint32s(page, page === pages ? pages : 0));
    const content = summed(bytes.subarray((page - 1) * pageBytes, page * pageBytes));
    parts.push(head, uint32s(...salts, ...sums), content);
  }
  return Buffer.concat(parts);
};

describe("FAIL-J2 REQ-D22: a workspace that brings databases of its own", () => {
  const theirState = (): string => join(base, "their-state");
  const tables = "CREATE TABLE things (name TEXT)";
  const openTheirs = (where: string) => {
    const state = createStateDb({ workspace: where, userState: theirState(), onWarning });
    const index = createIndexDb({ workspace: where, userState: theirState(), tables, version: 7, onWarning });
    opened.push(state, index);
    return { state, index };
  };
  const closeAll = (): void => {
    for (const db of opened.splice(0)) db.close();
  };
  /** Made with another key for the same path, as far as anybody else can know it. */
  const plantReal = (): void => {
    const { state, index } = openTheirs(workspace);
    addHandle(state, "theirs");
    addThing(index, "theirs");
    closeAll();
  };
  const filesIn = (folder: string): string[] => readdirSync(folder, { recursive: true }).map(String).sort();

  test("is not listened to, and what it brought stays as it is", () => {
    plantReal();
    const before = filesIn(at());
    expect(handles(openState())).toEqual([]);
    expect(things(openIndex())).toEqual([]);
    expect(filesIn(at())).toEqual(expect.arrayContaining(before));
    expect(warnings).toEqual([]);
  });

  test.each(["-wal", "-journal"])("in a %s beside our own changes nothing in ours", (suffix) => {
    addHandle(openState(), "mine");
    addThing(openIndex(), "mine");
    closeAll();
    plantReal();
    const theirs = stateFolderPath({ workspace, key: openSecretKey(theirState()) });
    // Under every name that they can know: those of earlier versions, and those of their own folder.
    for (const name of ["state.db", "index.db"]) {
      const log = walOf(join(theirs, name));
      writeFileSync(at(`${name}${suffix}`), log);
      writeFileSync(join(theirs, `${name}${suffix}`), log);
    }
    expect(handles(openState())).toEqual(["mine"]);
    expect(things(openIndex())).toEqual(["mine"]);
  });

  test("would be obeyed if it knew the name of our folder (that the forged log is a good one)", () => {
    addHandle(openState(), "mine");
    closeAll();
    plantReal();
    const theirs = stateFolderPath({ workspace, key: openSecretKey(theirState()) });
    writeFileSync(own("state.db-wal"), walOf(join(theirs, "state.db")));
    expect(handles(openState())).toEqual(["theirs"]);
  });

  test.each([
    ["of an earlier version", "CREATE TABLE leases (x); PRAGMA user_version = 2"],
    [
      "with triggers",
      "CREATE TABLE handles (id); CREATE TRIGGER t AFTER INSERT ON handles BEGIN DELETE FROM handles; END",
    ],
  ])("%s is not opened", (_what, sql) => {
    makeStateFolder(location()).close();
    const db = new DatabaseSync(at("state.db"));
    db.exec(sql);
    db.close();
    const before = readFileSync(at("state.db"));
    const state = openState();
    addHandle(state, "a");
    expect(handles(state)).toEqual(["a"]);
    expect(readFileSync(at("state.db")).equals(before)).toBe(true);
  });

  test("that were ours in another workspace is not listened to", () => {
    addHandle(openState(), "mine");
    closeAll();
    const first = workspace;
    workspace = join(base, "second");
    mkdirSync(workspace);
    execFileSync("cp", ["-a", join(first, ".llmc"), workspace]);
    expect(handles(openState())).toEqual([]);
    workspace = first;
    expect(handles(openState())).toEqual(["mine"]);
  });

  // One user, two state folders: a client that does not pass XDG_STATE_HOME on, beside the user's own shell.
  test("keeps them: two keys that take turns neither lose anything nor leave anything behind", () => {
    addHandle(openState(), "mine");
    plantReal();
    closeAll();
    const before = filesIn(at());
    for (let turn = 0; turn < 3; turn++) {
      expect(handles(openState())).toEqual(["mine"]);
      expect(handles(openTheirs(workspace).state)).toEqual(["theirs"]);
      closeAll();
    }
    expect(filesIn(at())).toEqual(before);
    expect(warnings).toEqual([]);
  });

  test("keeps the folder of every other key, whatever times a workspace gives to folders of such names", () => {
    const theirs = { workspace, key: openSecretKey(join(base, "theirs")) };
    makeStateFolder(theirs).close();
    const planted = ["a", "b", "c", "d"].map((digit) => at(digit.repeat(32)));
    for (const path of planted) {
      mkdirSync(path, { mode: 0o700 });
      utimesSync(path, 4e9, 4e9);
    }
    utimesSync(stateFolderPath(theirs), 1, 1);
    expect(handles(openState())).toEqual([]);
    expect([stateFolderPath(theirs), ...planted].filter((path) => !existsSync(path))).toEqual([]);
  });
});

test("FAIL-D7: what a killed process had committed is there at the next opening, from its log", async () => {
  handles(openState());
  for (const db of opened.splice(0)) db.close();
  const code = `
    import { createStateDb } from ${urlOf("../../src/host/state/state-db.ts")};
    const state = createStateDb({ workspace: ${JSON.stringify(workspace)}, userState: ${JSON.stringify(userState)}, onWarning: () => {} });
    state.transact(() => state.sql("INSERT INTO handles (id, principal, kind, source, created, expires, blob, file_version) VALUES ('last', 'local', 'output', '', 0, 0, NULL, NULL)").run());
    process.kill(process.pid, "SIGKILL");`;
  expect(await run(code)).toBe("");
  expect(statSync(own("state.db-wal")).size).toBeGreaterThan(0);
  expect(handles(openState())).toEqual(["last"]);
  expect(warnings).toEqual([]);
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
      const key = openSecretKey(${JSON.stringify(userState)});
      makeStateFolder({ workspace: ${JSON.stringify(workspace)}, key }).close();
      console.log(key.sign("x").toString("hex"));`;
    const output = await Promise.all(Array.from({ length: 8 }, () => run(code)));
    expect(new Set(output).size).toBe(1);
    expect(output[0]).toMatch(/^[0-9a-f]{64}\n$/);
    expect(readdirSync(userState)).toEqual(["key"]);
    expect(readdirSync(at())).toEqual([".gitignore", basename(own())]);
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

test("REQ-D22: a journal that llmc did not write is not looked at", async () => {
  const record = ".llmc/journal/0123456789abcdef.json";
  const app = await openTestApp({ files: { "a.txt": "one\n", [record]: '{"steps":[]}\n' } });
  await app.text("linux_fs_write", { path: "b.txt", content: "two\n" });
  expect(readFileSync(join(app.root, record), "utf8")).toBe('{"steps":[]}\n');
  expect(await app.logs()).not.toContain("journal");
});
