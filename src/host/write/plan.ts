import type { BigIntStats } from "node:fs";
import { LlmcError } from "../../base/error.ts";
import { quoteForMessage } from "../../base/text.ts";
import { shownPath } from "../../policy/paths.ts";
import type { Located } from "../reach/located.ts";
import { sha256Of } from "./bytes.ts";
import { decodeText, encodeRaw } from "./content.ts";
import type { FileChange, Written } from "./contract.ts";
import { alreadyExists, notADirectory, translateWrite } from "./failure.ts";
import { RETRY, refuseUnwritable, type WriteContext } from "./write-context.ts";
import { encodeChanged, findFile, readForChange } from "./write-file.ts";
import type { WriteReach } from "./write-reach.ts";
import {
  type ExistingParent,
  findExistingParent,
  findTarget,
  type Lockable,
  noDirectory,
  type WriteTarget,
} from "./write-target.ts";

// Each holds a descriptor or two, and its new content in memory until all are known to be good.
const MAX_CHANGES = 1000;
export const MAX_TOTAL_BYTES = 256 * 1024 * 1024;

export const refuseTooMany = (count: number): void => {
  if (count <= MAX_CHANGES) return;
  throw new LlmcError("invalid_args", `${count} files at once are over the limit of ${MAX_CHANGES}.`, {
    hint: "Take a smaller part at a time.",
  });
};

export const tooLarge = (): LlmcError =>
  new LlmcError("file_too_large", `The files have over ${MAX_TOTAL_BYTES} bytes together.`, {
    hint: "Take a smaller part at a time.",
  });

/** The targets of one change. A new file may lack directories, which are made for it. */
export interface ChangeTarget {
  readonly change: FileChange;
  /** Of the file as it is. */
  readonly old: WriteTarget | undefined;
  /** Of the file that is to appear. */
  readonly fresh: ExistingParent | undefined;
}

export interface ChangeTargets extends Lockable {
  readonly all: readonly ChangeTarget[];
}

/** What will be done for one change. */
export interface Plan extends ChangeTarget {
  /** Undefined: the file goes, or stays as it is. */
  readonly bytes: Buffer | undefined;
  readonly like: BigIntStats | undefined;
  readonly written: Written;
}

const findFresh = async (requestedPath: string, reach: WriteReach): Promise<ExistingParent> => {
  const parent = await findExistingParent(requestedPath, reach);
  try {
    if (parent.missing.length === 0) throw alreadyExists(requestedPath);
    if (!parent.dir.stats.isDirectory()) throw notADirectory(requestedPath);
    reach.refuseTarget(requestedPath, parent.realPath);
    return parent;
  } catch (error) {
    parent.close();
    throw error;
  }
};

const isLink = (requestedPath: string): LlmcError =>
  new LlmcError("invalid_args", `${quoteForMessage(requestedPath)} is a link.`, {
    hint: "Remove or move it by itself.",
  });

const findOld = async (change: FileChange, reach: WriteReach): Promise<WriteTarget> => {
  if (change.kind === "update") return await findFile(change.path, reach);
  const target = await findTarget(change.path, reach, false);
  if (target.stats?.isSymbolicLink() !== true) return target;
  target.close();
  throw isLink(change.path);
};

const findPut = async (change: FileChange & { kind: "put" }, reach: WriteReach): Promise<ChangeTarget> => {
  const fresh = await findFresh(change.path, reach).catch((error: unknown) => {
    if (change.overwrite && error instanceof LlmcError && error.code === "already_exists") return undefined;
    throw error;
  });
  if (change.inExisting === true && fresh !== undefined && fresh.missing.length > 1) {
    fresh.close();
    throw noDirectory(change.path);
  }
  return { change, fresh, old: fresh === undefined ? await findOld(change, reach) : undefined };
};

const findChangeTarget = async (change: FileChange, reach: WriteReach): Promise<ChangeTarget> => {
  if (change.kind === "create" || change.kind === "directory")
    return { change, old: undefined, fresh: await findFresh(change.path, reach) };
  if (change.kind === "put") return findPut(change, reach);
  const old = await findOld(change, reach);
  try {
    if (change.kind === "update") return { change, old, fresh: undefined };
    reach.refuseRemoval(change.path, old.realPath);
    const fresh = change.kind === "rename" ? await findFresh(change.target, reach) : undefined;
    return { change, old, fresh };
  } catch (error) {
    old.close();
    throw error;
  }
};

const keysOf = ({ old, fresh }: ChangeTarget): string[] => [...(old?.keys ?? []), ...(fresh?.keys ?? [])];

const refuseTwice = (all: readonly ChangeTarget[]): void => {
  const seen = new Set<string>();
  for (const target of all) {
    for (const key of keysOf(target)) {
      if (seen.has(key)) {
        throw new LlmcError("invalid_args", `${quoteForMessage(target.change.path)} is changed twice.`, {
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

export const findChangeTargets = async (
  changes: readonly FileChange[],
  reach: WriteReach,
): Promise<ChangeTargets> => {
  refuseTooMany(changes.length);
  const all: ChangeTarget[] = [];
  const { share, close } = createSharing();
  try {
    for (const change of changes) {
      const { old, fresh } = await findChangeTarget(change, reach);
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
  target: ChangeTarget,
  context: WriteContext,
  reach: WriteReach,
  signal: AbortSignal | undefined,
): Promise<Plan | typeof RETRY> => {
  const { change, old, fresh } = target;
  const result = (bytes: Buffer | undefined, sha256: string, like?: BigIntStats): Plan => ({
    ...target,
    bytes,
    like,
    written: {
      path: shownPath((fresh ?? old)?.realPath ?? "", reach.rules.workspace),
      bytesWritten: bytes?.length ?? 0,
      sha256,
      created: fresh !== undefined,
    },
  });
  if (change.kind === "directory") return result(undefined, "");
  if (change.kind === "create" || old === undefined) {
    const bytes =
      change.kind === "put" ? change.bytes : encodeRaw("text" in change ? change.text : "", "utf-8");
    return result(bytes, sha256Of(bytes));
  }
  if (change.kind === "put") {
    if (old.stats === undefined) return RETRY;
    refuseUnwritable(old, old.stats, reach);
    return result(change.bytes, sha256Of(change.bytes), old.stats);
  }
  const read = await readForChange(context, old, reach, signal);
  if (read === RETRY) return RETRY;
  const { text, form } = decodeText(read.bytes, change.path);
  if (change.kind === "delete") {
    change.check(text);
    return result(undefined, "");
  }
  const next = await change.change(text, context.maxTextBytes);
  if (change.kind === "update" && next === text) return result(undefined, sha256Of(read.bytes));
  const bytes = encodeChanged(context, change.path, { text: next, form });
  return result(bytes, sha256Of(bytes), read.stats);
};

/** Every content and every refusal, with nothing written. */
export const planAll = async (
  targets: ChangeTargets,
  context: WriteContext,
  reach: WriteReach,
  signal: AbortSignal | undefined,
): Promise<readonly Plan[] | typeof RETRY> => {
  const plans: Plan[] = [];
  let total = 0;
  for (const target of targets.all) {
    const plan = await planOne(target, context, reach, signal).catch((error: unknown) => {
      throw translateWrite(error, target.change.path);
    });
    if (plan === RETRY) return RETRY;
    total += plan.bytes?.length ?? 0;
    if (total > MAX_TOTAL_BYTES) throw tooLarge();
    plans.push(plan);
  }
  return plans;
};
