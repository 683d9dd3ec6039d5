import {
  chmodSync,
  chownSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  statSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { beforeEach, describe, expect, it } from "vitest";
import { createMemoryLocks } from "../../../test/escapes/write-port.ts";
import { IS_ROOT, sha, useStand, WAYS } from "../../../test/escapes/write-stand.ts";
import { LlmcError } from "../../base/error.ts";
import type { Locks } from "../state/locks/locks.ts";
import type { FileWrites } from "./contract.ts";

const { at, open, outside, put, read, refused, strays } = useStand();

describe.each(WAYS)("writing a file %s", (_way, locate) => {
  let writes: FileWrites;
  beforeEach(() => {
    writes = open({ locate });
  });

  describe("rewrite", () => {
    it("REQ-F2 replaces a file and says what is there now", async () => {
      const before = lstatSync(at("src/a.txt")).ino;
      expect(await writes.rewrite("src/a.txt", "neu\n")).toEqual({
        path: "src/a.txt",
        bytesWritten: 4,
        sha256: sha("neu\n"),
        created: false,
      });
      expect(read("src/a.txt")).toBe("neu\n");
      expect(lstatSync(at("src/a.txt")).ino).not.toBe(before);
      expect(strays()).toEqual([]);
    });

    it("REQ-F2 creates a file with the usual mode, and empties one", async () => {
      expect(await writes.rewrite("new.txt", "ä")).toMatchObject({ bytesWritten: 2, created: true });
      expect(statSync(at("new.txt")).mode & 0o777).toBe(0o644 & ~process.umask());
      expect(statSync(at("new.txt")).nlink).toBe(1);
      expect(await writes.rewrite("new.txt", "")).toMatchObject({ bytesWritten: 0, created: false });
      expect(read("new.txt")).toBe("");
      expect(strays()).toEqual([]);
    });

    it("does not make directories on the side, and says how to", async () => {
      expect(await refused(writes.rewrite("srcc/new.txt", "x"), "file_not_found")).toMatch(
        /did you mean "src"/i,
      );
      mkdirSync(at("src/srcs"));
      expect(await refused(writes.rewrite("src/srcss/new.txt", "x"), "file_not_found")).toMatch(
        /did you mean "src\/srcs"/i,
      );
      expect(await refused(writes.rewrite("zzz/deep/new.txt", "x"), "file_not_found")).toContain(
        "Make it first",
      );
      await refused(writes.rewrite("src/a.txt/x", "x"), "not_a_directory");
      await refused(writes.rewrite("src", "x"), "is_directory");
      await refused(writes.rewrite("src/", "x"), "is_directory");
      await refused(writes.rewrite("new/", "x"), "is_directory");
      expect(readdirSync(at()).sort()).toEqual([".llmc", "src"].filter((name) => existsSync(at(name))));
    });

    it("FAIL-A12 keeps the mode of a script, special bits too", async () => {
      for (const mode of [0o755, 0o600, 0o664, 0o2755]) {
        chmodSync(at("src/a.txt"), mode);
        await writes.rewrite("src/a.txt", `${mode}`);
        expect(statSync(at("src/a.txt")).mode & 0o7777).toBe(mode);
      }
    });

    it.runIf(IS_ROOT)("FAIL-A12 keeps owner and group of a file of somebody else", async () => {
      chownSync(at("src/a.txt"), 1234, 4321);
      chmodSync(at("src/a.txt"), 0o640);
      await writes.rewrite("src/a.txt", "x");
      await writes.update("src/a.txt", (text) => `${text}y`);
      await writes.append("src/a.txt", "z");
      expect(statSync(at("src/a.txt"))).toMatchObject({ uid: 1234, gid: 4321, mode: 0o100640 });
    });

    it("FAIL-A12 refuses a read-only file by its mode bits, also for root", async () => {
      chmodSync(at("src/a.txt"), 0o444);
      await refused(writes.rewrite("src/a.txt", "x"), "permission_denied");
      await refused(writes.append("src/a.txt", "x"), "permission_denied");
      await refused(
        writes.update("src/a.txt", () => "x"),
        "permission_denied",
      );
      expect(read("src/a.txt")).toBe("one\ntwo\n");
    });

    it("FAIL-A5 leaves files alone that look like somebody's temporary ones", async () => {
      put("src/a.txt.tmp", "mine");
      symlinkSync(outside("x"), at("src/a.tmp"));
      symlinkSync(outside("made"), at("src/.a.txt.swp"));
      await writes.rewrite("src/a.txt", "x");
      expect(read("src/a.txt.tmp")).toBe("mine");
      expect(readlinkSync(at("src/a.tmp"))).toBe(outside("x"));
      expect(readFileSync(outside("x"), "utf8")).toBe("OUTSIDE");
      expect(existsSync(outside("made"))).toBe(false);
    });

    it("leaves the other name of a hard link as it was", async () => {
      linkSync(at("src/a.txt"), at("other.txt"));
      await writes.rewrite("src/a.txt", "x");
      expect(read("other.txt")).toBe("one\ntwo\n");
    });

    it("writes two files of one name one after the other", async () => {
      await Promise.all(
        Array.from({ length: 20 }, (_, i) => writes.rewrite("src/a.txt", `${i}`.repeat(1000))),
      );
      expect(read("src/a.txt")).toMatch(/^(\d{1,2})\1{999}$/);
      expect(strays()).toEqual([]);
    });

    it("refuses half a character", async () => {
      await refused(writes.rewrite("x", "\udc00"), "invalid_args");
      await refused(writes.append("x", "\udc00"), "invalid_args");
      expect(existsSync(at("x"))).toBe(false);
    });

    it("stops before the last step when the call is over", async () => {
      const stopped = AbortSignal.abort();
      await refused(writes.rewrite("src/a.txt", "x", {}, stopped), "cancelled");
      const late = new AbortController();
      const busy: Locks = {
        ...createMemoryLocks(),
        hold: async (_keys, work) => {
          late.abort();
          return await work({ fence: 1, commit: (step) => step() });
        },
      };
      await refused(open({ locate, locks: busy }).rewrite("src/a.txt", "x", {}, late.signal), "cancelled");
      expect(read("src/a.txt")).toBe("one\ntwo\n");
    });

    it("FAIL-A18 writes nothing when its lock was taken over", async () => {
      const lost = new LlmcError("busy", "Lost.");
      const locks: Locks = {
        ...createMemoryLocks(),
        hold: (_keys, work) =>
          work({
            fence: 1,
            commit: () => {
              throw lost;
            },
          }),
      };
      await refused(open({ locate, locks }).rewrite("src/a.txt", "x"), "busy");
      await refused(open({ locate, locks }).append("src/a.txt", "x"), "busy");
      await refused(open({ locate, locks }).rewrite("new", "x"), "busy");
      await refused(open({ locate, locks }).remove("src/a.txt", { recursive: false }), "busy");
      expect(read("src/a.txt")).toBe("one\ntwo\n");
      expect(existsSync(at("new"))).toBe(false);
    });
  });

  describe("the expected hash", () => {
    const old = sha("one\ntwo\n");

    it("REQ-D6 is checked against the file, whole or by its first digits", async () => {
      await writes.rewrite("src/a.txt", "1", { expectedSha256: old });
      await writes.rewrite("src/a.txt", "2", { expectedSha256: sha("1").slice(0, 12).toUpperCase() });
      await writes.append("src/a.txt", "3", { expectedSha256: sha("2") });
      await writes.update("src/a.txt", (text) => `${text}4`, { expectedSha256: sha("23") });
      expect(read("src/a.txt")).toBe("234");
    });

    it("REQ-D6 that differs writes nothing", async () => {
      const wrong = { expectedSha256: sha("other") };
      await refused(writes.rewrite("src/a.txt", "x", wrong), "sha_mismatch");
      await refused(writes.append("src/a.txt", "x", wrong), "sha_mismatch");
      await refused(
        writes.update("src/a.txt", () => "x", wrong),
        "sha_mismatch",
      );
      expect(read("src/a.txt")).toBe("one\ntwo\n");
    });

    it("REQ-D6 is not checked where there is no file", async () => {
      expect(await writes.rewrite("new", "x", { expectedSha256: old })).toMatchObject({ created: true });
      expect(await writes.append("new2", "x", { expectedSha256: old })).toMatchObject({ created: true });
    });

    it("REQ-D6 that is none is refused before anything else", async () => {
      await refused(writes.rewrite("src/a.txt", "x", { expectedSha256: "abc" }), "invalid_args");
      await refused(writes.append("src/a.txt", "x", { expectedSha256: "" }), "invalid_args");
    });

    it("FAIL-A16 a file replaced or changed in between is not lost", async () => {
      const meddle = async (change: () => void, expected: string): Promise<void> => {
        put("src/a.txt", "one\ntwo\n");
        await refused(
          writes.update("src/a.txt", (text) => {
            change();
            return `${text}mine`;
          }),
          "sha_mismatch",
        );
        expect(read("src/a.txt")).toBe(expected);
      };
      await meddle(() => put("src/a.txt", "theirs, longer"), "theirs, longer");
      await meddle(() => put("src/a.txt", "ONE\nTWO\n"), "ONE\nTWO\n");
      await meddle(() => {
        put("src/b.txt", "theirs");
        renameSync(at("src/b.txt"), at("src/a.txt"));
      }, "theirs");
      await refused(
        writes.update("src/a.txt", (text) => {
          unlinkSync(at("src/a.txt"));
          return `${text}mine`;
        }),
        "sha_mismatch",
      );
      expect(existsSync(at("src/a.txt"))).toBe(false);
    });

    it("FAIL-A16 a file replaced while the lock is waited for is seen", async () => {
      const memory = createMemoryLocks();
      const locks: Locks = {
        ...memory,
        hold: (keys, work, signal) => {
          put("src/a.txt", "theirs");
          return memory.hold(keys, work, signal);
        },
      };
      await refused(
        open({ locate, locks }).rewrite("src/a.txt", "x", { expectedSha256: old }),
        "sha_mismatch",
      );
      expect(read("src/a.txt")).toBe("theirs");
    });
  });

  describe("update", () => {
    it.each([
      ["CRLF", Buffer.from("a\r\nb\r\n"), Buffer.from("A\r\nb\r\n")],
      ["no final newline", Buffer.from("a\nb"), Buffer.from("A\nb")],
      ["a BOM", Buffer.from("\uFEFFa\r\nb"), Buffer.from("\uFEFFA\r\nb")],
      ["UTF-16 LE", Buffer.from("\uFEFFa\r\nb", "utf16le"), Buffer.from("\uFEFFA\r\nb", "utf16le")],
      [
        "UTF-16 BE",
        Buffer.from("\uFEFFa\nb", "utf16le").swap16(),
        Buffer.from("\uFEFFA\nb", "utf16le").swap16(),
      ],
    ])("FAIL-A14 keeps %s", async (_what, before, after) => {
      put("f", before);
      const written = await writes.update("f", (text) => {
        expect(text).not.toContain("\uFEFF");
        return text.replace("a", "A");
      });
      expect(readFileSync(at("f"))).toEqual(after);
      expect(written).toEqual({ path: "f", bytesWritten: after.length, sha256: sha(after), created: false });
    });

    it("FAIL-A14 an empty file stays one, and can be filled", async () => {
      put("f", "");
      expect(await writes.update("f", (text) => text)).toMatchObject({ bytesWritten: 0, sha256: sha("") });
      expect(await writes.update("f", () => "x")).toMatchObject({ bytesWritten: 1 });
    });

    it("FAIL-A14 refuses what is not text, and leaves every byte", async () => {
      const latin = Buffer.from([0x67, 0x72, 0xfc, 0x6e, 0x0a]);
      put("latin", latin);
      put("binary", Buffer.from([1, 0, 2]));
      for (const path of ["latin", "binary"]) {
        await refused(
          writes.update(path, (text) => `${text}x`),
          "invalid_args",
        );
      }
      expect(readFileSync(at("latin"))).toEqual(latin);
    });

    it("REQ-F5 the same text writes nothing", async () => {
      const before = lstatSync(at("src/a.txt"), { bigint: true });
      expect(await writes.update("src/a.txt", (text) => text)).toEqual({
        path: "src/a.txt",
        bytesWritten: 0,
        sha256: sha("one\ntwo\n"),
        created: false,
      });
      expect(lstatSync(at("src/a.txt"), { bigint: true })).toMatchObject({
        ino: before.ino,
        ctimeNs: before.ctimeNs,
      });
    });

    it("what the change throws ends it", async () => {
      const error = new RangeError("mine");
      await refused(
        writes.update("src/a.txt", () => {
          throw error;
        }),
        "internal_error",
      );
      expect(read("src/a.txt")).toBe("one\ntwo\n");
    });

    it("refuses a missing file, with the name that was likely meant", async () => {
      const message = await refused(
        writes.update("src/a.tx", (text) => text),
        "file_not_found",
      );
      expect(message).toContain('Did you mean "src/a.txt"?');
    });

    it("refuses a file over the limit without reading it", async () => {
      writeFileSync(at("big"), "");
      truncateSync(at("big"), 100 * 1024 ** 3);
      await refused(
        writes.update("big", (text) => text),
        "file_too_large",
      );
      await refused(
        open({ locate, maxTextBytes: 4 }).update("src/a.txt", (text) => text),
        "file_too_large",
      );
    });
  });
});
