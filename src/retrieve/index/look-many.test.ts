import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { tempWorkspace } from "../../../test/app.ts";
import { SAMPLES } from "../../../test/syntax-samples.ts";
import { readEmbedderFiles } from "../../host/os/assets.ts";
import { createLooker, type Look } from "./look.ts";
import { createLookMany, type ListedWanted, type LookMany } from "./look-many.ts";

const MIB = 1024 * 1024;

/** Files of every language there is a sample of, and some that are none. */
const filesOf = (bytes: number): Readonly<Record<string, string>> => {
  const files: Record<string, string> = { "notes.md": "# Words\n\nMore words.\n", "empty.txt": "" };
  const each = bytes / SAMPLES.length;
  for (const { path, source } of SAMPLES) {
    const times = Math.ceil(each / 40_000);
    for (let i = 0; i < times; i++)
      files[`${path.replace(".", `-${i}.`)}`] = `${source}\n`.repeat(Math.ceil(each / times / source.length));
  }
  return files;
};

const SETTINGS = { roots: ["."], denylist: [], maxFileBytes: 8 * MIB, watch: false };

const openMany = (root: string): LookMany => {
  const embedderFiles = readEmbedderFiles();
  const looker = createLooker(root, embedderFiles);
  const many = createLookMany(root, embedderFiles, looker);
  onTestFinished(async () => {
    await many.close();
    looker.close();
  });
  return many;
};

const lookAt = async (root: string, wanted: readonly ListedWanted[], threads: number): Promise<Look[]> => {
  const looks: Look[] = [];
  const take = (some: readonly Look[]): void => void looks.push(...some);
  await openMany(root).run(wanted, { ...SETTINGS, threads }, take, undefined);
  return looks.sort((one, other) => (one.path < other.path ? -1 : 1));
};

/** Files that were written a moment ago have no stamp to trust: it depends on when one looks. */
const withoutStamps = (looks: readonly Look[]) => looks.map((look) => ({ ...look, stamp: "" }));

const workspaceOf = (bytes: number) => {
  const files = filesOf(bytes);
  const root = tempWorkspace(files);
  writeFileSync(join(root, "binary.dat"), Buffer.from([0, 1, 2, 0, 255]));
  const paths = [...Object.keys(files), "binary.dat", "gone.ts"];
  const wanted = paths.map((path) => ({
    path,
    hash: undefined,
    size: files[path]?.length ?? 5,
    stamp: "",
  }));
  return { root, wanted };
};

describe("many files are looked at the same way, however the work is shared", () => {
  test("REQ-R1: alone, and by two threads in halves", async () => {
    const { root, wanted } = workspaceOf(1.5 * MIB);
    const alone = await lookAt(root, wanted, 0);
    expect(alone).toHaveLength(wanted.length);
    expect(alone.filter(({ kind }) => kind === "read").length).toBeGreaterThan(SAMPLES.length);
    expect(withoutStamps(await lookAt(root, wanted, 2))).toEqual(withoutStamps(alone));
  });

  test("FAIL-D5: a call that is given up stops, and the next one is answered", async () => {
    const { root, wanted } = workspaceOf(1.5 * MIB);
    const many = openMany(root);
    const settings = { ...SETTINGS, threads: 2 };
    const gone = new AbortController();
    const seen: Look[] = [];
    const stopped = many.run(
      wanted,
      settings,
      (looks) => {
        seen.push(...looks);
        gone.abort();
      },
      gone.signal,
    );
    await expect(stopped).rejects.toMatchObject({ code: "cancelled" });
    expect(seen.length).toBeLessThan(wanted.length);
    const taken = seen.length;
    const whole: Look[] = [];
    await many.run(wanted, settings, (looks) => void whole.push(...looks), undefined);
    expect(whole).toHaveLength(wanted.length);
    // Whoever gave up may have let go of the index meanwhile.
    expect(seen).toHaveLength(taken);
  });

  test("what cannot be stored is told, and ends the run", async () => {
    const { root, wanted } = workspaceOf(1.5 * MIB);
    const take = (): void => {
      throw new Error("disk full");
    };
    const run = openMany(root).run(wanted, { ...SETTINGS, threads: 2 }, take, undefined);
    await expect(run).rejects.toThrow("disk full");
  });
});
