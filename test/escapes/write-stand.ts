import { createHash } from "node:crypto";
import {
  existsSync,
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
import { afterEach, beforeEach, expect } from "vitest";
import type { ErrorCode } from "../../src/base/error-table.ts";
import { createLocateByDescriptor } from "../../src/host/reach/locate-by-descriptor.ts";
import { locateByName } from "../../src/host/reach/locate-by-name.ts";
import type { Locate } from "../../src/host/reach/located.ts";
import type { FileWrites } from "../../src/host/write/contract.ts";
import { openWrites, type WritesChanges } from "./write-port.ts";

/** Links are not followed: some lead back up. */
const namesBelow = (folder: string): string[] =>
  readdirSync(folder, { withFileTypes: true }).flatMap((entry) => [
    entry.name,
    ...(entry.isDirectory() ? namesBelow(join(folder, entry.name)) : []),
  ]);

/** Both ways of finding things, where the machine has both: they are held to the same promises. */
export const WAYS: readonly (readonly [string, Locate])[] = existsSync("/proc/self/fdinfo")
  ? [
      ["by descriptor", createLocateByDescriptor()],
      ["by name", locateByName],
    ]
  : [["by name", locateByName]];

export const IS_ROOT = process.getuid?.() === 0;

export const sha = (content: string | Uint8Array): string =>
  createHash("sha256").update(content).digest("hex");

/** A workspace `app` beside an `app-secret` that nobody may touch, new for every test. */
export const useStand = () => {
  let base = "";
  const inBase = (...names: string[]): string => join(base, ...names);
  const at = (...names: string[]): string => join(base, "app", ...names);
  const outside = (...names: string[]): string => join(base, "app-secret", ...names);

  beforeEach(() => {
    base = realpathSync(mkdtempSync(join(tmpdir(), "llmc-write-")));
    mkdirSync(at("src"), { recursive: true });
    mkdirSync(outside());
    writeFileSync(at("src/a.txt"), "one\ntwo\n");
    writeFileSync(outside("x"), "OUTSIDE");
  });

  afterEach(() => {
    rmSync(base, { recursive: true, force: true });
  });

  const strays = (): string[] => namesBelow(base).filter((name) => name.includes(".llmc-tmp-"));

  return {
    base: inBase,
    at,
    outside,
    strays,
    read: (path: string): string => readFileSync(at(path), "utf8"),
    put: (path: string, content: string | Uint8Array): void => writeFileSync(at(path), content),
    open: (changes: WritesChanges = {}): FileWrites => openWrites(at(), changes),
    /** Refused with that code, with nothing left behind, changed or told of the outside. Gives message and hint. */
    refused: async (work: Promise<unknown>, code: ErrorCode): Promise<string> => {
      const error: unknown = await work.then(
        (value) => new Error(`Expected a refusal, got ${JSON.stringify(value)}`),
        (reason: unknown) => reason,
      );
      expect(error).toMatchObject({ code });
      const { message, hint = "" } = error as { message: string; hint?: string };
      // The caller's own words may be a path of the machine.
      expect(`${message.replace(/^"[^"]*"/, "")} ${hint}`).not.toContain(base);
      expect(`${message} ${hint}`).not.toContain("OUTSIDE");
      expect(strays()).toEqual([]);
      expect(readdirSync(outside())).toEqual(["x"]);
      expect(readFileSync(outside("x"), "utf8")).toBe("OUTSIDE");
      return `${message} ${hint}`;
    },
  };
};
