import { existsSync, mkdirSync, readdirSync, statSync, symlinkSync } from "node:fs";
import { beforeEach, describe, expect, it } from "vitest";
import { useStand, WAYS } from "../../../test/escapes/write-stand.ts";
import type { FileWrites } from "./contract.ts";

const { at, open, outside, refused } = useStand();
const OK = { existOk: true };
const NEW = { existOk: false };

describe.each(WAYS)("REQ-F4 making directories %s", (_way, locate) => {
  let writes: FileWrites;
  beforeEach(() => {
    writes = open({ locate });
  });

  it("makes all that is missing, once", async () => {
    expect(await writes.makeDirs("a/b/c", NEW)).toEqual({ path: "a/b/c", created: true });
    expect(statSync(at("a/b/c")).isDirectory()).toBe(true);
    expect(await writes.makeDirs("a/b/c", OK)).toEqual({ path: "a/b/c", created: false });
    expect(await writes.makeDirs("a/b/c/", OK)).toEqual({ path: "a/b/c", created: false });
    expect(await writes.makeDirs(".", OK)).toEqual({ path: ".", created: false });
    await refused(writes.makeDirs("a/b/c", NEW), "already_exists");
    await Promise.all(Array.from({ length: 10 }, (_, i) => writes.makeDirs(`p/q/${i % 2}`, OK)));
    expect(readdirSync(at("p/q"))).toEqual(["0", "1"]);
  });

  it("FAIL-J6 deep paths are refused, and others have their turn while many folders are judged", async () => {
    for (const depth of [200, 1900])
      expect(await refused(writes.makeDirs("d/".repeat(depth), OK), "path_denied")).toContain(
        "128 names deep",
      );
    expect(readdirSync(at())).not.toContain("d");
    let turns = 0;
    const turn = (): void => {
      turns++;
      pending = setImmediate(turn);
    };
    let pending = setImmediate(turn);
    await writes.makeDirs("d/".repeat(100), NEW).finally(() => clearImmediate(pending));
    expect(turns).toBeGreaterThanOrEqual(100);
    // A link to a deep folder leads no deeper either.
    symlinkSync("d/".repeat(100), at("far"));
    await refused(writes.makeDirs(`far/${"e/".repeat(100)}`, OK), "path_denied");
  });

  it("a file in the way is named as such", async () => {
    await refused(writes.makeDirs("src/a.txt", OK), "not_a_directory");
    await refused(writes.makeDirs("src/a.txt/b", OK), "not_a_directory");
    await refused(writes.makeDirs("src/a.txt", NEW), "already_exists");
  });

  it("FAIL-A3 follows links inside, and none that leads out or to nothing", async () => {
    symlinkSync("src", at("in"));
    symlinkSync(outside(), at("out"));
    symlinkSync(outside("new"), at("dangling-out"));
    symlinkSync("nothing", at("dangling-in"));
    expect(await writes.makeDirs("in/deep", OK)).toEqual({ path: "src/deep", created: true });
    for (const path of [
      "out/new",
      "out",
      "dangling-out",
      "dangling-out/x",
      "dangling-in/x",
      "../app-secret/new",
      outside("new"),
    ]) {
      await refused(writes.makeDirs(path, OK), "path_denied");
    }
    expect(existsSync(at("nothing"))).toBe(false);
  });

  it("REQ-D16 FAIL-A19 puts no directory in the place of what is ours, and leaves nothing half made", async () => {
    mkdirSync(at("modules"));
    const guarded = open({
      locate,
      obeyedPaths: () => ({ modules: ["modules"], config: ["policies/main.cedar"] }),
    });
    for (const path of [
      "llmc.toml",
      "llmc.toml/x",
      ".llmc",
      ".llmc/x",
      "n/.llmc/x",
      "modules/x",
      "policies/main.cedar",
      ".git/hooks/x",
    ]) {
      await refused(guarded.makeDirs(path, OK), "path_denied");
    }
    expect(readdirSync(at()).sort()).toEqual(["modules", "src"]);
  });
});
