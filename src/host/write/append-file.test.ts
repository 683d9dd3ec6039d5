import { execFileSync } from "node:child_process";
import { linkSync, lstatSync, readFileSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { beforeEach, describe, expect, it } from "vitest";
import { sha, useStand, WAYS } from "../../../test/escapes/write-stand.ts";
import type { FileWrites } from "./contract.ts";

const { at, open, put, read, refused } = useStand();

describe.each(WAYS)("appending to a file %s", (_way, locate) => {
  let writes: FileWrites;
  beforeEach(() => {
    writes = open({ locate });
  });

  it("REQ-F2 adds at the end, in place, with the hash of the whole", async () => {
    const before = lstatSync(at("src/a.txt")).ino;
    expect(await writes.append("src/a.txt", "drei")).toEqual({
      path: "src/a.txt",
      bytesWritten: 4,
      sha256: sha("one\ntwo\ndrei"),
      created: false,
    });
    expect(read("src/a.txt")).toBe("one\ntwo\ndrei");
    expect(lstatSync(at("src/a.txt")).ino).toBe(before);
    expect(await writes.append("src/a.txt", "")).toMatchObject({ sha256: sha("one\ntwo\ndrei") });
  });

  it("FAIL-J1 REQ-F2 leaves the other name of a hard link as it was", async () => {
    linkSync(at("src/a.txt"), at("shared"));
    const expected = { expectedSha256: sha("one\ntwo\n") };
    await expect(writes.append("src/a.txt", "x", { expectedSha256: sha("other") })).rejects.toThrow(
      "differs",
    );
    expect(await writes.append("src/a.txt", "drei", expected)).toEqual({
      path: "src/a.txt",
      bytesWritten: 4,
      sha256: sha("one\ntwo\ndrei"),
      created: false,
    });
    expect([read("src/a.txt"), read("shared")]).toEqual(["one\ntwo\ndrei", "one\ntwo\n"]);
  });

  it("REQ-F2 creates a missing file", async () => {
    expect(await writes.append("new", "x")).toEqual({
      path: "new",
      bytesWritten: 1,
      sha256: sha("x"),
      created: true,
    });
  });

  it("FAIL-A14 speaks the file's own encoding", async () => {
    put("f", Buffer.from("\uFEFFa\r\n", "utf16le"));
    expect(await writes.append("f", "b")).toMatchObject({ bytesWritten: 2 });
    expect(readFileSync(at("f"))).toEqual(Buffer.from("\uFEFFa\r\nb", "utf16le"));
  });

  it("FAIL-A14 keeps memory bounded over a large file, and can be stopped", async () => {
    writeFileSync(at("big"), "");
    truncateSync(at("big"), 192 * 1024 ** 2);
    const before = process.memoryUsage.rss();
    const { sha256 } = await writes.append("big", "end");
    expect(process.memoryUsage.rss() - before).toBeLessThan(128 * 1024 ** 2);
    expect(sha256).toBe(execFileSync("sha256sum", [at("big")], { encoding: "utf8" }).slice(0, 64));
    truncateSync(at("big"), 100 * 1024 ** 3);
    await refused(writes.append("big", "x", {}, AbortSignal.timeout(50)), "cancelled");
    expect(statSync(at("big")).size).toBe(100 * 1024 ** 3);
  });

  it("keeps all of many at once", async () => {
    await Promise.all(Array.from({ length: 50 }, (_, i) => writes.append("log", `${i}\n`)));
    expect(
      read("log")
        .trim()
        .split("\n")
        .map(Number)
        .sort((a, b) => a - b),
    ).toEqual(Array.from({ length: 50 }, (_, i) => i));
  });
});
