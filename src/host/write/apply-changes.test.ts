import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, readdirSync, statSync, symlinkSync } from "node:fs";
import { beforeEach, describe, expect, it } from "vitest";
import { createMemoryLocks } from "../../../test/escapes/write-port.ts";
import { IS_ROOT, sha, useStand, WAYS } from "../../../test/escapes/write-stand.ts";
import { ownState } from "../../../test/user-state.ts";
import { LlmcError } from "../../base/error.ts";
import type { Locks } from "../state/locks/locks.ts";
import type { FileChange, FileWrites } from "./contract.ts";

const { at, open, outside, put, read, refused, strays } = useStand();
const WET = { dryRun: false };
const DRY = { dryRun: true };

const update = (path: string, text: string): FileChange => ({ kind: "update", path, change: () => text });
const create = (path: string, text = "new"): FileChange => ({ kind: "create", path, text });
const remove = (path: string): FileChange => ({ kind: "delete", path, check: () => {} });
const rename = (path: string, target: string): FileChange => ({
  kind: "rename",
  path,
  target,
  change: (text) => `${text}renamed`,
});
const fails = (path: string): FileChange => ({
  kind: "update",
  path,
  change: () => {
    throw new LlmcError("text_not_found", "Not there.");
  },
});

const snapshot = (): Record<string, string> =>
  Object.fromEntries(
    readdirSync(at(), { recursive: true, encoding: "utf8" })
      .filter((name) => !name.startsWith(".llmc") && statSync(at(name)).isFile())
      .sort()
      .map((name) => [name, `${(statSync(at(name)).mode & 0o777).toString(8)} ${read(name)}`]),
  );

describe.each(WAYS)("REQ-F11 changing many files %s", (_way, locate) => {
  let writes: FileWrites;
  beforeEach(() => {
    writes = open({ locate });
    put("b.txt", "b\r\n");
    put("c.txt", "c");
    chmodSync(at("c.txt"), 0o755);
  });

  it("does all of it, and says what is there now, in order", async () => {
    const written = await writes.applyAll(
      [
        update("b.txt", "B\r\n"),
        create("new/deep/d.txt", "d"),
        remove("src/a.txt"),
        rename("c.txt", "new/c2.txt"),
      ],
      WET,
    );
    expect(written).toEqual([
      { path: "b.txt", bytesWritten: 3, sha256: sha("B\r\n"), created: false },
      { path: "new/deep/d.txt", bytesWritten: 1, sha256: sha("d"), created: true },
      { path: "src/a.txt", bytesWritten: 0, sha256: "", created: false },
      { path: "new/c2.txt", bytesWritten: 8, sha256: sha("crenamed"), created: true },
    ]);
    expect(snapshot()).toEqual({
      "b.txt": "644 B\r\n",
      "new/c2.txt": "755 crenamed",
      "new/deep/d.txt": "644 d",
    });
    expect(strays()).toEqual([]);
    expect(readdirSync(ownState(at(), "journal")).filter((name) => !name.endsWith(".log"))).toEqual([]);
  });

  it("a dry run checks everything and writes nothing", async () => {
    const before = snapshot();
    const changes = [update("b.txt", "B"), create("new/d.txt"), remove("src/a.txt"), rename("c.txt", "x/c2")];
    const preview = await writes.applyAll(changes, DRY);
    expect(snapshot()).toEqual(before);
    expect(existsSync(at("new"))).toBe(false);
    await refused(writes.applyAll([...changes, fails("b2.txt")], DRY), "file_not_found");
    expect(preview).toEqual(await writes.applyAll(changes, WET));
    expect(await writes.applyAll([], WET)).toEqual([]);
  });

  it("nothing happens when one of them cannot", async () => {
    const before = snapshot();
    symlinkSync(outside("x"), at("out"));
    symlinkSync("b.txt", at("link"));
    put("latin", Buffer.from([0xfc]));
    put("latin2", Buffer.from([0xfc]));
    put("locked", "");
    put(".env", "A=1");
    chmodSync(at("locked"), 0o444);
    const good = [update("b.txt", "B"), create("new/d.txt"), remove("src/a.txt")];
    const bad: [FileChange, Parameters<typeof refused>[1]][] = [
      [fails("c.txt"), "text_not_found"],
      [update("missing", "x"), "file_not_found"],
      [create("c.txt"), "already_exists"],
      [rename("c.txt", "latin"), "already_exists"],
      [update("latin", "x"), "invalid_args"],
      [remove("latin2"), "invalid_args"],
      [update("locked", "x"), "permission_denied"],
      [update("src", "x"), "is_directory"],
      [update("out", "x"), "path_denied"],
      [create("../app-secret/new"), "path_denied"],
      [create("llmc.toml"), "path_denied"],
      [create(".git/hooks/pre-commit"), "path_denied"],
      [rename("c.txt", ".llmc/x"), "path_denied"],
      [update(".env", "x"), "path_denied"],
      [rename(".env", "env.txt"), "path_denied"],
      [remove("link"), "invalid_args"],
      [update("b.txt", "again"), "invalid_args"],
      [update("link", "again"), "invalid_args"],
      [rename("c.txt", "new/d.txt"), "invalid_args"],
    ];
    for (const [change, code] of bad) {
      await refused(writes.applyAll([...good, change], WET), code);
      await refused(writes.applyAll([change, ...good], DRY), code);
    }
    for (const name of ["latin", "latin2", "locked", ".env", "link", "out"])
      before[name] = snapshot()[name] ?? "";
    expect(snapshot()).toEqual(Object.fromEntries(Object.entries(before).sort()));
    expect(existsSync(at("new"))).toBe(false);
    expect(existsSync(at(".git"))).toBe(false);
  });

  it("FAIL-A16 nothing happens when one was changed by somebody else in between", async () => {
    const meddling: FileChange = {
      kind: "update",
      path: "c.txt",
      change: (text) => {
        put("b.txt", "theirs");
        return `${text}mine`;
      },
    };
    await refused(writes.applyAll([update("b.txt", "B"), meddling, create("n/d")], WET), "sha_mismatch");
    expect(snapshot()).toEqual({ "b.txt": "644 theirs", "c.txt": "755 c", "src/a.txt": "644 one\ntwo\n" });
    expect(existsSync(at("n"))).toBe(false);
    const late: FileChange = {
      ...meddling,
      change: (text) => {
        put("d", "theirs");
        return `${text}mine`;
      },
    };
    await refused(writes.applyAll([create("d"), late], WET), "already_exists");
    expect(read("d")).toBe("theirs");
    expect(read("c.txt")).toBe("c");
  });

  it("texts that stay the same are not written", async () => {
    const { ino } = statSync(at("b.txt"));
    await writes.applyAll([{ kind: "update", path: "b.txt", change: (text) => text }, create("d")], WET);
    expect(statSync(at("b.txt")).ino).toBe(ino);
  });

  it("stops when the call is over, with nothing done", async () => {
    const control = new AbortController();
    const stopping: FileChange = {
      kind: "update",
      path: "c.txt",
      change: (text) => {
        control.abort();
        return `${text}x`;
      },
    };
    const before = snapshot();
    await refused(
      writes.applyAll([update("b.txt", "B"), create("n/d"), stopping], WET, control.signal),
      "cancelled",
    );
    expect(snapshot()).toEqual(before);
  });

  it("FAIL-A18 undoes everything when the lock turns out to be lost at the end", async () => {
    const lost = new LlmcError("busy", "Lost.");
    const locks: Locks = {
      ...createMemoryLocks(),
      hold: (_keys, work) =>
        work({
          fence: 1,
          commit: (step) => {
            const isLast = existsSync(at("n"));
            const value = step();
            if (isLast) throw lost;
            return value;
          },
        }),
    };
    const before = snapshot();
    const changes = [update("b.txt", "B"), create("n/d"), remove("src/a.txt"), rename("c.txt", "n/c")];
    await refused(open({ locate, locks }).applyAll(changes, WET), "busy");
    expect(snapshot()).toEqual(before);
    expect(existsSync(at("n"))).toBe(false);
  });

  it("a hundred files at once, and no more than a thousand", async () => {
    const changes = Array.from({ length: 100 }, (_, i) => create(`many/${i % 5}/${i}`, `${i}`));
    expect(await writes.applyAll(changes, WET)).toHaveLength(100);
    expect(readdirSync(at("many"), { recursive: true })).toHaveLength(105);
    await refused(
      writes.applyAll(
        Array.from({ length: 1001 }, (_, i) => create(`${i}`)),
        WET,
      ),
      "invalid_args",
    );
  });
});

it.runIf(IS_ROOT)("REQ-F11 puts everything back when a rename in the middle fails", async () => {
  put("b.txt", "b");
  put("c.txt", "c");
  try {
    // A file that is a mount point of its own can be written, but not replaced.
    execFileSync("mount", ["--bind", at("c.txt"), at("c.txt")], { stdio: "ignore" });
  } catch {
    // Containers without the right to mount.
    return;
  }
  try {
    const before = snapshot();
    const changes = [update("b.txt", "B"), create("n/d"), remove("src/a.txt"), update("c.txt", "C")];
    await refused(open().applyAll(changes, WET), "write_failed");
    await refused(open().rewrite("c.txt", "C"), "write_failed");
    expect(snapshot()).toEqual(before);
    expect(existsSync(at("n"))).toBe(false);
    expect(readdirSync(ownState(at(), "journal")).filter((name) => !name.endsWith(".log"))).toEqual([]);
  } finally {
    execFileSync("umount", [at("c.txt")]);
  }
});
