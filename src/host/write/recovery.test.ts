import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  renameSync,
  statSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { beforeEach, describe, expect, it } from "vitest";
import { createMemoryLocks, type WritesChanges, writesOptions } from "../../../test/escapes/write-port.ts";
import { useStand } from "../../../test/escapes/write-stand.ts";
import { ownState, USER_STATE } from "../../../test/user-state.ts";
import { createOwners, type Owner } from "../os/process-owner.ts";
import { openSecretKey, type SecretKey } from "../own-files/secret-key.ts";
import { recoverWrites } from "./file-writes.ts";
import { createWriteJournal, signLine } from "./journal.ts";
import { doAll, doStep, idOf, type Step } from "./steps.ts";
import { statOf } from "./write-target.ts";

const { at, open, outside, put, read, strays } = useStand();

const owners = createOwners(process.pid);
/** A process of this machine that is no more: the same number, another birth. */
const dead: Owner = { ...owners.self(), birth: owners.self().birth.replace(/^\d+/, "1") };

const TEMPS = ["a", "b", "c", "d", "e", "f"].map((letter) => `.llmc-tmp-${letter.repeat(24)}`);
const [T1 = "", T2 = "", B1 = "", B2 = "", B3 = "", T3 = ""] = TEMPS;

const idAt = (path: string) => {
  const stats = statOf(at(path));
  if (stats === undefined) throw new Error(`nothing at ${path}`);
  return idOf(stats);
};

const recover = (changes: WritesChanges = {}) => recoverWrites(writesOptions(at(), changes));

const journalOf = (owner: Owner) =>
  createWriteJournal(() => ({ workspace: at(), key: openSecretKey(USER_STATE) }), {
    self: () => owner,
    isGone: (other) => owners.isGone(other),
  });

const inJournal = (...names: string[]): string => ownState(at(), "journal", ...names);
const makeJournal = (): void => void mkdirSync(inJournal(), { recursive: true, mode: 0o700 });
const plant = (name: string, text: string): void => writeFileSync(inJournal(name), text);
const noted = (): string[] => (existsSync(inJournal()) ? readdirSync(inJournal()) : []);

describe("FAIL-A13 temporary files of a writer that was killed", () => {
  const leave = (owner: Owner): void => {
    journalOf(owner).noteTemp({ temp: at(`src/${T1}`), key: at("src/a.txt") });
    put(`src/${T1}`, "half");
    put(`src/${T2}`, "noted by nobody");
  };

  it("are gone after the next start, with their note", async () => {
    leave(dead);
    expect(await recover()).toEqual({ undone: 0, removed: 1, left: 0, failed: 0, refused: 0 });
    expect(readdirSync(at("src")).sort()).toEqual([T2, "a.txt"]);
    expect(noted()).toEqual([]);
    expect(await recover()).toEqual({ undone: 0, removed: 0, left: 0, failed: 0, refused: 0 });
  });

  it("stay while their writer holds its lock", async () => {
    leave(owners.self());
    const locks = createMemoryLocks();
    await locks.hold([at("src/a.txt")], async () => {
      expect(await recover({ locks })).toEqual({ undone: 0, removed: 0, left: 1, failed: 0, refused: 0 });
    });
    expect(existsSync(at(`src/${T1}`))).toBe(true);
    expect(noted()).toHaveLength(1);
  });

  it("of a process that cannot be seen, in another container, go once it holds no lock; its log a while later", async () => {
    const unseen: Owner = { pid: 1, birth: "1@elsewhere/pid:[1]" };
    leave(unseen);
    expect(await recover()).toEqual({ undone: 0, removed: 1, left: 0, failed: 0, refused: 0 });
    expect(noted()).toHaveLength(1);
    const hours = Date.now() / 1000 - 7200;
    for (const name of noted()) utimesSync(inJournal(name), hours, hours);
    await recover();
    expect(noted()).toEqual([]);
  });

  it("outside the roots, or where a link leads by now, are not touched", async () => {
    const journal = journalOf(dead);
    put(T1, "x");
    renameSync(at(T1), outside(T1));
    journal.noteTemp({ temp: outside(T1), key: outside("x") });
    journal.noteTemp({ temp: at(`out/${T1}`), key: at("out/x") });
    journal.noteTemp({ temp: at("src/a.txt"), key: at("src/a.txt") });
    symlinkSync(outside(), at("out"));
    await recover();
    expect(readdirSync(outside()).sort()).toEqual([T1, "x"]);
    expect(read("src/a.txt")).toBe("one\ntwo\n");
  });

  it("the log is cut when it grows, and made anew when somebody removed it", async () => {
    const writes = open();
    for (let i = 0; i < 3; i++) await writes.rewrite("src/a.txt", `${i}`);
    const [log = ""] = noted();
    unlinkSync(inJournal(log));
    await writes.rewrite("src/a.txt", "x");
    expect(noted()).toHaveLength(1);
    expect(noted()).not.toContain(log);
    const journal = journalOf(dead);
    for (let i = 0; i < 2000; i++) journal.noteTemp({ temp: at(T1), key: at("x") })();
    for (const name of noted()) expect(statSync(inJournal(name)).size).toBeLessThan(70 * 1024);
  });
});

describe("REQ-F11 FAIL-A13 a change of many files whose writer was killed", () => {
  let steps: readonly Step[];

  // One file to replace, one to create in a new directory, one to delete.
  beforeEach(async () => {
    mkdirSync(at("new"));
    put("del.txt", "del");
    put(`src/${T1}`, "ONE");
    put(`new/${T2}`, "NEW");
    steps = [
      {
        kind: "replace",
        dir: at("src"),
        name: "a.txt",
        temp: T1,
        made: idAt(`src/${T1}`),
        backup: B1,
        old: idAt("src/a.txt"),
      },
      { kind: "create", dir: at("new"), name: "n.txt", temp: T2, made: idAt(`new/${T2}`) },
      { kind: "delete", dir: at(), name: "del.txt", backup: B2, old: idAt("del.txt") },
    ];
    await journalOf(dead).record({
      keys: [at("src/a.txt"), at("new/n.txt"), at("del.txt")],
      steps,
      made: [at("new")],
    });
  });

  const expectUndone = (): void => {
    expect(read("src/a.txt")).toBe("one\ntwo\n");
    expect(read("del.txt")).toBe("del");
    expect(existsSync(at("new"))).toBe(false);
    expect(strays()).toEqual([]);
    expect(noted()).toEqual([]);
  };

  it.each([0, 1, 2, 3])("is undone after %i of its 3 steps", async (count) => {
    for (const step of steps.slice(0, count)) doStep(step, step.dir);
    expect(await recover()).toEqual({ undone: 1, removed: 0, left: 0, failed: 0, refused: 0 });
    expectUndone();
  });

  it("is undone in the middle of a step", async () => {
    linkSync(at("src/a.txt"), at(`src/${B1}`));
    linkSync(at(`new/${T2}`), at("new/n.txt"));
    await recover();
    expectUndone();
  });

  it("is undone where the disk has no hard links", async () => {
    renameSync(at("src/a.txt"), at(`src/${B1}`));
    await recover();
    expectUndone();
  });

  it("leaves what somebody has put there since", async () => {
    doAll(steps.map((step) => ({ step, at: step.dir })));
    put("src/mine", "theirs");
    renameSync(at("src/mine"), at("src/a.txt"));
    put("new/n.txt", "theirs, edited in place");
    put("del.txt", "theirs again");
    await recover();
    expect(read("src/a.txt")).toBe("theirs");
    expect(read("new/n.txt")).toBe("theirs, edited in place");
    expect(read("del.txt")).toBe("theirs again");
    expect(strays()).toEqual([]);
  });

  it("waits while somebody holds one of its locks, and its backups wait too", async () => {
    for (const step of steps) doStep(step, step.dir);
    journalOf(dead).noteTemp({ temp: at(`src/${B1}`), key: at("other") });
    const locks = createMemoryLocks();
    await locks.hold([at("src/a.txt")], async () => {
      expect(await recover({ locks })).toEqual({ undone: 0, removed: 0, left: 2, failed: 0, refused: 0 });
    });
    expect(existsSync(at(`src/${B1}`))).toBe(true);
    expect(await recover({ locks })).toMatchObject({ undone: 1, left: 0 });
    expectUndone();
  });

  // As a clone can bring them: a record, and a folder under the name that a refused record used to get.
  it("FAIL-J2 is undone whatever else is called a journal, and whatever lies beside it", async () => {
    for (const step of steps.slice(0, 2)) doStep(step, step.dir);
    const first = "0000000000000000.json";
    for (const folder of [at(".llmc/journal"), inJournal()]) {
      mkdirSync(`${folder}/${first}.refused`, { recursive: true, mode: 0o700 });
      writeFileSync(`${folder}/${first}.refused/x`, "x");
      writeFileSync(`${folder}/${first}`, "{}");
      mkdirSync(`${folder}/0000000000000001.json.part/x`, { recursive: true });
      utimesSync(`${folder}/0000000000000001.json.part`, 1, 1);
    }
    expect(await recover()).toEqual({ undone: 1, removed: 0, left: 0, failed: 0, refused: 1 });
    expect(read("src/a.txt")).toBe("one\ntwo\n");
    expect(strays()).toEqual([]);
    expect(readdirSync(at(".llmc/journal"))).toHaveLength(3);
  });

  it("is undone although another record cannot be", async () => {
    for (const step of steps) doStep(step, step.dir);
    const far: Step = { kind: "delete", dir: outside(), name: "gone", backup: B3, old: idAt("src/a.txt") };
    for (let i = 0; i < 4; i++) await journalOf(dead).record({ keys: [at("x")], steps: [far], made: [] });
    expect(await recover()).toMatchObject({ undone: 1, failed: 4 });
    expect(read("src/a.txt")).toBe("one\ntwo\n");
    expect(noted()).toHaveLength(4);
  });

  it("is left alone outside the roots", async () => {
    doAll(steps.map((step) => ({ step, at: step.dir })));
    expect(await recover({ roots: () => ["new"] })).toMatchObject({ undone: 0, failed: 1 });
    expect(read("src/a.txt")).toBe("ONE");
  });
});

describe("FAIL-J2 REQ-D22 a journal that a workspace brought along", () => {
  const NAME = "0123456789abcdef.json";
  const forged = () => ({
    owner: dead,
    keys: [at("src/a.txt")],
    made: [],
    steps: [{ kind: "create", dir: at("src"), name: "a.txt", temp: T1, made: idAt("src/a.txt") }],
  });
  const other = (): SecretKey => openSecretKey(at("their-state"));
  const signed = (key: SecretKey, name: string, workspace = at()): string =>
    signLine({ workspace, key }, name, JSON.stringify(forged()));

  it("would remove a file if it were ours", async () => {
    makeJournal();
    plant(NAME, signed(openSecretKey(USER_STATE), NAME));
    expect(await recover()).toMatchObject({ undone: 1 });
    expect(existsSync(at("src/a.txt"))).toBe(false);
  });

  it.each<[string, () => string]>([
    ["without a signature", () => JSON.stringify(forged())],
    ["signed with another key", () => signed(other(), NAME)],
    ["signed for another file", () => signed(openSecretKey(USER_STATE), "fedcba9876543210.json")],
    ["signed for another workspace", () => signed(openSecretKey(USER_STATE), NAME, outside())],
    ["with a signature of nothing", () => ` ${JSON.stringify(forged())}`],
  ])("%s is renamed and not obeyed", async (_what, line) => {
    makeJournal();
    plant(NAME, line());
    expect(await recover()).toMatchObject({ undone: 0, left: 0, refused: 1 });
    expect(read("src/a.txt")).toBe("one\ntwo\n");
    expect(noted()).toEqual([expect.stringMatching(new RegExp(`^${NAME}\\.refused-[0-9a-f]{8}$`))]);
  });

  it("as a log removes no temporary file", async () => {
    makeJournal();
    put(`src/${T1}`, "theirs");
    const note = JSON.stringify({ temp: at(`src/${T1}`), key: at("src/a.txt") });
    plant("0123456789abcdef.log", `${JSON.stringify({ owner: dead })}\n${note}`);
    expect(await recover()).toMatchObject({ removed: 0, refused: 1 });
    expect(existsSync(at(`src/${T1}`))).toBe(true);
  });

  it("in a folder that others can write is not looked at", async () => {
    makeJournal();
    plant(NAME, "{}");
    chmodSync(inJournal(), 0o777);
    expect(await recover()).toMatchObject({ refused: 0 });
    await expect(open().rewrite("src/a.txt", "x")).rejects.toMatchObject({ code: "write_failed" });
  });
});

describe("REQ-D16 a journal that somebody made up", () => {
  it("changes nothing, even where it names files by their inodes", async () => {
    mkdirSync(at(".git/hooks"), { recursive: true });
    put("llmc.toml", "x = 1");
    put(B1, "evil");
    put(B2, "evil");
    put(`.git/hooks/${B3}`, "evil");
    put(T3, "evil");
    const journal = journalOf(dead);
    const forged: Step[] = [
      { kind: "delete", dir: at(), name: "llmc.toml", backup: B1, old: idAt(B1) },
      {
        kind: "delete",
        dir: at(".git/hooks"),
        name: "pre-commit",
        backup: B3,
        old: idAt(`.git/hooks/${B3}`),
      },
      { kind: "create", dir: at(), name: "llmc.toml", temp: T3, made: idAt("llmc.toml") },
      { kind: "delete", dir: outside(), name: "new", backup: B2, old: idAt(B2) },
      { kind: "delete", dir: at(), name: "../app-secret/new", backup: B2, old: idAt(B2) },
      { kind: "delete", dir: at("src/.."), name: "new", backup: B2, old: idAt(B2) },
      { kind: "delete", dir: at(), name: "src/a.txt", backup: "src/a.txt", old: idAt("src/a.txt") },
      { kind: "create", dir: at("src"), name: "a.txt", temp: "a.txt", made: idAt("src/a.txt") },
    ];
    for (const step of forged)
      await journal.record({ keys: [at("x")], steps: [step], made: [outside(), at("src")] });
    plant("broken.json", '{"owner":');
    plant("empty.json", "");
    plant("wrong.json", JSON.stringify({ owner: dead, keys: [1], steps: [{}], made: "x" }));
    plant("broken.log", "\0\n{}\nnull\n[]");
    await recover();
    expect(read("llmc.toml")).toBe("x = 1");
    expect(readdirSync(at(".git/hooks"))).toEqual([B3]);
    expect(readdirSync(outside())).toEqual(["x"]);
    expect(read("src/a.txt")).toBe("one\ntwo\n");
  });

  it("is no reason to touch other files, beside it or where a link leads", async () => {
    const ours = "0123456789abcdef";
    makeJournal();
    const names = ["package.json", "notes.log", "half.json.part", `${ours}.json`, `${ours}.log`];
    for (const name of names) plant(name, "{}");
    execFileSync("mkfifo", [inJournal("fedcba9876543210.log")]);
    await recover();
    expect(noted()).toHaveLength(names.length + 1);
    renameSync(inJournal(), at("elsewhere"));
    symlinkSync(at("elsewhere"), inJournal());
    await recover();
    expect(noted()).toHaveLength(names.length + 1);
    await expect(open().rewrite("src/a.txt", "x")).rejects.toMatchObject({ code: "write_failed" });
    expect(readdirSync(at("elsewhere"))).toHaveLength(names.length + 1);
    expect(read("src/a.txt")).toBe("one\ntwo\n");
  });
});
