import {
  existsSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ownState, USER_STATE } from "../../../test/user-state.ts";
import type { Database } from "./database/database.ts";
import { createIndexDb } from "./index-db.ts";

describe("the index database", () => {
  let workspace = "";
  let warnings: string[] = [];
  const opened: Database[] = [];
  const open = (version = 7): Database => {
    const db = createIndexDb({
      workspace,
      userState: USER_STATE,
      tables: "CREATE TABLE things (name TEXT)",
      version,
      onWarning: (message) => void warnings.push(message),
    });
    opened.push(db);
    return db;
  };
  const put = (db: Database, name: string): void =>
    db.transact(() => void db.sql("INSERT INTO things VALUES (?)").run(name));
  const names = (db: Database): unknown[] =>
    db.read(() =>
      db
        .sql("SELECT name FROM things ORDER BY name")
        .all()
        .map((row) => row["name"]),
    );
  const file = (): string => ownState(workspace, "index.db");

  beforeEach(() => {
    workspace = realpathSync(mkdtempSync(join(tmpdir(), "llmc-index-db-")));
    warnings = [];
  });
  afterEach(() => {
    for (const db of opened.splice(0)) db.close();
    rmSync(workspace, { recursive: true });
  });

  test("keeps what was written, for others and for later", () => {
    const db = open();
    const other = open();
    put(db, "a");
    const version = other.dataVersion();
    put(db, "b");
    expect(other.dataVersion()).not.toBe(version);
    expect(names(other)).toEqual(["a", "b"]);
    db.close();
    expect(names(open())).toEqual(["a", "b"]);
  });

  test("work that fails changes nothing", () => {
    const db = open();
    put(db, "a");
    expect(() =>
      db.transact(() => {
        db.sql("DELETE FROM things").run();
        throw new Error("no");
      }),
    ).toThrow("no");
    expect(names(db)).toEqual(["a"]);
  });

  test("a database of another version is put aside and begun anew, also for who has it open", () => {
    const old = open(7);
    put(old, "a");
    const identity = old.identity();
    expect(names(open(8))).toEqual([]);
    expect(warnings.join()).toContain("another version");
    expect(old.identity()).not.toBe(identity);
  });

  test.each([
    ["text instead of a database", () => writeFileSync(file(), "x".repeat(10_000))],
    ["an empty file", () => writeFileSync(file(), "")],
    [
      "a database whose middle is overwritten",
      () => {
        const bytes = readFileSync(file());
        writeFileSync(file(), bytes.fill(0xff, 100));
      },
    ],
  ])("FAIL-D7: %s is made anew", (_what, damage) => {
    const db = open();
    put(db, "a");
    db.close();
    damage();
    const again = open();
    let found: unknown[] | undefined;
    // Damage may show only when it is read; then once more is enough.
    try {
      found = names(again);
    } catch (error) {
      expect(error).toMatchObject({ code: "unavailable", retryable: true });
      found = names(again);
    }
    expect(found).toEqual([]);
    put(again, "b");
    expect(names(again)).toEqual(["b"]);
  });

  test("a file that is removed or swapped under us is opened again", () => {
    const db = open();
    put(db, "a");
    const identity = db.identity();
    renameSync(join(workspace, ".llmc"), join(workspace, "elsewhere"));
    expect(db.identity()).not.toBe(identity);
    expect(names(db)).toEqual([]);
    expect(existsSync(file())).toBe(true);
  });

  test("where nothing can be written it lives in memory", () => {
    writeFileSync(join(workspace, ".llmc"), "");
    const db = open();
    put(db, "a");
    expect(names(db)).toEqual(["a"]);
    expect(db.isKept()).toBe(false);
    expect(warnings.join()).toContain("memory");
  });
});
