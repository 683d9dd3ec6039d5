import type { BigIntStats } from "node:fs";
import { LlmcError } from "../../base/error.ts";
import { quoteForMessage } from "../../base/text.ts";
import { shownPath } from "../../policy/paths.ts";
import type { Located } from "../reach/located.ts";
import { sha256Of } from "./bytes.ts";
import { decodeText, encodeRaw, encodeText } from "./content.ts";
import type { FileChange, Written } from "./contract.ts";
import { alreadyExists, notADirectory, translateWrite } from "./failure.ts";
import type { WriteGround } from "./ground.ts";
import { findFile, readForChange } from "./one.ts";
import { type Deepest, type Found, findDeepest, findPlace, type Place } from "./place.ts";
import { AGAIN, type Bench } from "./workbench.ts";

// Each holds a descriptor or two, and its new content in memory until all are known to be good.
const MAX_CHANGES = 1000;
const MAX_TOTAL_BYTES = 256 * 1024 * 1024;

/** The places of one change. A new file may lack directories, which are made for it. */
export interface Spot {
  readonly change: FileChange;
  /** Of the file as it is. */
  readonly old: Place | undefined;
  /** Of the file that is to appear. */
  readonly fresh: Deepest | undefined;
}

export interface Spots extends Found {
  readonly all: readonly Spot[];
}

/** What will be done for one change. */
export interface Plan extends Spot {
  /** Undefined: the file goes, or stays as it is. */
  readonly bytes: Buffer | undefined;
  readonly like: BigIntStats | undefined;
  readonly written: Written;
}

const findFresh = async (words: string, ground: WriteGround): Promise<Deepest> => {
  const deepest = await findDeepest(words, ground);
  try {
    if (deepest.missing.length === 0) throw alreadyExists(words);
    if (!deepest.dir.stats.isDirectory()) throw notADirectory(words);
    ground.refuseTarget(words, deepest.realPath);
    return deepest;
  } catch (error) {
    deepest.close();
    throw error;
  }
};

const isLink = (words: string): LlmcError =>
  new LlmcError("invalid_args", `${quoteForMessage(words)} is a link.`, {
    hint: "Remove or move it by itself.",
  });

const findOld = async (change: FileChange, ground: WriteGround): Promise<Place> => {
  if (change.kind === "update") return await findFile(change.path, ground);
  const place = await findPlace(change.path, ground, false);
  if (place.stats?.isSymbolicLink() !== true) return place;
  place.close();
  throw isLink(change.path);
};

const findSpot = async (change: FileChange, ground: WriteGround): Promise<Spot> => {
  if (change.kind === "create")
    return { change, old: undefined, fresh: await findFresh(change.path, ground) };
  const old = await findOld(change, ground);
  try {
    if (change.kind === "update") return { change, old, fresh: undefined };
    ground.refuseRemoval(change.path, old.realPath);
    const fresh = change.kind === "rename" ? await findFresh(change.target, ground) : undefined;
    return { change, old, fresh };
  } catch (error) {
    old.close();
    throw error;
  }
};

const keysOf = ({ old, fresh }: Spot): string[] => [...(old?.keys ?? []), ...(fresh?.keys ?? [])];

const refuseTwice = (all: readonly Spot[]): void => {
  const seen = new Set<string>();
  for (const spot of all) {
    for (const key of keysOf(spot)) {
      if (seen.has(key)) {
        throw new LlmcError("invalid_args", `${quoteForMessage(spot.change.path)} is changed twice.`, {
          hint: "Put all changes of one file into one.",
        });
      }
      seen.add(key);
    }
  }
};

/** Files of one directory share its descriptor: a change of many files needs few. */
const createSharing = () => {
  const held = new Map<string, Located>();
  return {
    share: <T extends { readonly dir: Located }>(found: T): T => {
      const { dir } = found;
      const known = held.get(dir.realPath);
      if (known !== undefined && known.stats.ino === dir.stats.ino && known.stats.dev === dir.stats.dev) {
        dir.close();
        return { ...found, dir: known };
      }
      held.set(known === undefined ? dir.realPath : `${dir.realPath}#${held.size}`, dir);
      return found;
    },
    close: (): void => {
      for (const dir of held.values()) dir.close();
    },
  };
};

export const findSpots = async (changes: readonly FileChange[], ground: WriteGround): Promise<Spots> => {
  if (changes.length > MAX_CHANGES) {
    throw new LlmcError(
      "invalid_args",
      `${changes.length} files at once are over the limit of ${MAX_CHANGES}.`,
    );
  }
  const all: Spot[] = [];
  const { share, close } = createSharing();
  try {
    for (const change of changes) {
      const { old, fresh } = await findSpot(change, ground);
      const shared = old && share(old);
      all.push({
        change,
        old: shared && { ...shared, at: `${shared.dir.at}/${shared.name}` },
        fresh: fresh && share(fresh),
      });
    }
    refuseTwice(all);
    return { all, keys: all.flatMap(keysOf), close };
  } catch (error) {
    close();
    throw error;
  }
};

const planOne = async (
  spot: Spot,
  bench: Bench,
  ground: WriteGround,
  signal: AbortSignal | undefined,
): Promise<Plan | typeof AGAIN> => {
  const { change, old, fresh } = spot;
  const result = (bytes: Buffer | undefined, sha256: string, like?: BigIntStats): Plan => ({
    ...spot,
    bytes,
    like,
    written: {
      path: shownPath((fresh ?? old)?.realPath ?? "", ground.rules.workspace),
      bytesWritten: bytes?.length ?? 0,
      sha256,
      created: fresh !== undefined,
    },
  });
  if (change.kind === "create" || old === undefined) {
    const bytes = encodeRaw(change.kind === "create" ? change.text : "", "utf-8");
    return result(bytes, sha256Of(bytes));
  }
  const read = await readForChange(bench, old, ground, signal);
  if (read === AGAIN) return AGAIN;
  const { text, form } = decodeText(read.bytes, change.path);
  if (change.kind === "delete") {
    change.check(text);
    return result(undefined, "");
  }
  const next = change.change(text);
  if (change.kind === "update" && next === text) return result(undefined, sha256Of(read.bytes));
  const bytes = encodeText({ text: next, form });
  return result(bytes, sha256Of(bytes), read.stats);
};

/** Every content and every refusal, with nothing written. */
export const planAll = async (
  spots: Spots,
  bench: Bench,
  ground: WriteGround,
  signal: AbortSignal | undefined,
): Promise<readonly Plan[] | typeof AGAIN> => {
  const plans: Plan[] = [];
  let total = 0;
  for (const spot of spots.all) {
    const plan = await planOne(spot, bench, ground, signal).catch((error: unknown) => {
      throw translateWrite(error, spot.change.path);
    });
    if (plan === AGAIN) return AGAIN;
    total += plan.bytes?.length ?? 0;
    if (total > MAX_TOTAL_BYTES) {
      throw new LlmcError("file_too_large", `The changed files have over ${MAX_TOTAL_BYTES} bytes together.`);
    }
    plans.push(plan);
  }
  return plans;
};
