import { exhausted, LlmcError } from "../../base/error.ts";
import { systemErrorCode } from "../../base/system-error.ts";
import { encodeFields } from "../../observe/audit/bounded.ts";
import type { AuditEntry } from "../../observe/audit/entry.ts";
import { createOwners } from "../os/process-owner.ts";
import { appendRecord, type ChainState, closeChain, isChainThere, openChain } from "./chain-writer.ts";
import { maintainChains } from "./maintenance.ts";
import type { AuditSettings } from "./settings.ts";
import {
  type AuditKey,
  type AuditPaths,
  chainsOf,
  makeAuditStore,
  openAuditKey,
  RECORDS,
  withAuditLock,
} from "./store.ts";

interface AuditLog {
  error(fields: Readonly<Record<string, string | number>>, message: string): void;
  warn(fields: Readonly<Record<string, string | number>>, message: string): void;
}

interface TrailParts extends AuditPaths {
  readonly settings: () => AuditSettings;
  readonly log: AuditLog;
  readonly server: string;
  readonly pid: number;
  readonly today: () => Date;
}

/** Ended chains are left as files of their own until there are this many: merging needs a lock and reads them. */
const MAX_CHAINS = 32;
/** How often it is checked that the file still has its name, in milliseconds. */
const CHECK_MS = 1000;
const DAY_MS = 86_400_000;
/** Reads are recorded together, after their answers: this many, or those of so many milliseconds. */
const MAX_WAITING = 64;
const MAX_WAIT_MS = 20;

interface Trail {
  readonly parts: TrailParts;
  readonly owners: ReturnType<typeof createOwners>;
  key: AuditKey | undefined;
  chain: ChainState | undefined;
  checkedAt: number;
  maintainedAt: number;
  /** Records that could not be written since the last one that was. */
  missed: number;
  /** Reads that are not written yet, each with its time in milliseconds. */
  readonly waiting: { readonly make: () => AuditEntry; readonly at: number }[];
  timer: NodeJS.Timeout | undefined;
  maintaining: Promise<void> | undefined;
}

const openStore = (trail: Trail) => {
  trail.key ??= openAuditKey(trail.parts);
  return makeAuditStore(trail.parts, trail.key);
};

/** Events of the trail itself. */
type OwnEntry = { readonly kind: "open" | "close" | "gap" | "retention" } & Readonly<
  Record<string, string | number>
>;

const append = (trail: Trail, chain: ChainState, entry: AuditEntry | OwnEntry, now: Date): void => {
  const { maxFileBytes, sync } = trail.parts.settings();
  const fields = encodeFields({ time: now.toISOString(), ...entry });
  const isNewFile = appendRecord(chain, fields, {
    now,
    maxFileBytes,
    sync,
    openStore: () => openStore(trail),
  });
  if (isNewFile) maintainSoon(trail);
};

const open = (trail: Trail, now: Date): ChainState => {
  const { server, pid } = trail.parts;
  const store = openStore(trail);
  try {
    const chain = openChain(store, trail.owners.self(), now);
    trail.chain = chain;
    trail.checkedAt = now.getTime();
    trail.maintainedAt = now.getTime();
    append(trail, chain, { kind: "open", server, pid }, now);
    return chain;
  } finally {
    store.close();
  }
};

/** The chain in use; a new one where there is none, or where somebody has removed its file. */
const current = (trail: Trail, now: Date): ChainState => {
  const { chain, checkedAt, parts } = trail;
  if (chain === undefined) return open(trail, now);
  if (Math.abs(now.getTime() - checkedAt) < CHECK_MS) return chain;
  trail.checkedAt = now.getTime();
  if (isChainThere(chain)) return chain;
  parts.log.error(
    { chain: chain.head.chain },
    "the audit trail's file was removed while it was in use; a new chain begins (llmc audit verify)",
  );
  trail.chain = undefined;
  closeChain(chain, false);
  return open(trail, now);
};

const write = (trail: Trail, entry: AuditEntry, at: Date): void => {
  const now = trail.parts.today();
  const chain = current(trail, now);
  if (trail.missed > 0) {
    append(trail, chain, { kind: "gap", missed: trail.missed }, now);
    trail.missed = 0;
    trail.parts.log.warn({}, "the audit trail is written again");
  }
  append(trail, chain, entry, at);
  if (now.getTime() - trail.maintainedAt > DAY_MS) maintainSoon(trail);
};

/** Writes what waits, in order. */
const flush = (trail: Trail): void => {
  const { waiting, timer } = trail;
  if (timer !== undefined) clearTimeout(timer);
  trail.timer = undefined;
  let written = 0;
  try {
    for (const { make, at } of waiting) {
      write(trail, make(), new Date(at));
      written++;
    }
  } catch (error) {
    noteFailure(trail, error, waiting.length - written);
  } finally {
    waiting.length = 0;
  }
};

/**
 * A read changes nothing, so its record may follow its answer: written at once, it would take as long as half of a call
 * that does nothing. That ends when one cannot be written: then each is written before its answer again.
 */
const mayWait = ({ chain, missed, parts }: Trail): boolean => {
  const { enabled, sync } = parts.settings();
  return chain !== undefined && missed === 0 && enabled && !sync;
};

const wait = (trail: Trail, make: () => AuditEntry): void => {
  trail.waiting.push({ make, at: trail.parts.today().getTime() });
  if (trail.waiting.length >= MAX_WAITING) flush(trail);
  else trail.timer ??= setTimeout(() => flush(trail), MAX_WAIT_MS).unref();
};

const unavailable = (code: string, cause: unknown): LlmcError =>
  exhausted(code, cause) ??
  new LlmcError(
    "audit_unavailable",
    `The audit trail cannot be written (${code}), so what must be recorded is not done.`,
    {
      hint: `The operator has to free space, or make ${RECORDS} and the user's state folder writable.`,
      cause,
    },
  );

const codeOf = (error: unknown): string =>
  systemErrorCode(error) ?? systemErrorCode((error as Error | undefined)?.cause) ?? "unusable";

const noteFailure = (trail: Trail, error: unknown, records: number): void => {
  const code = codeOf(error);
  if (trail.missed === 0)
    trail.parts.log.error(
      { code, reason: error instanceof LlmcError ? error.message : code },
      "the audit trail cannot be written; calls that must be recorded are refused",
    );
  trail.missed += records;
};

const fail = (trail: Trail, entry: AuditEntry, error: unknown): void => {
  noteFailure(trail, error, 1);
  const isRead = "effect" in entry && entry.effect === "read";
  if (!isRead || !trail.parts.settings().unauditedReads) throw unavailable(codeOf(error), error);
};

const maintain = async (trail: Trail): Promise<void> => {
  const { parts, chain, owners } = trail;
  if (chain === undefined) return;
  const now = parts.today();
  const store = openStore(trail);
  try {
    await withAuditLock(store, 0, () => {
      if (trail.chain !== chain) return;
      maintainChains({
        store,
        owners,
        chain,
        now,
        settings: parts.settings(),
        onRemoval: (removal) => append(trail, chain, { kind: "retention", ...removal }, now),
      });
    });
  } finally {
    store.close();
  }
};

/** After the call that it was noticed in has been answered. */
const maintainSoon = (trail: Trail): void => {
  trail.maintainedAt = trail.parts.today().getTime();
  trail.maintaining ??= new Promise<void>((resolve) => setImmediate(resolve))
    .then(() => maintain(trail))
    .catch((error: unknown) =>
      trail.parts.log.warn(
        { code: systemErrorCode(error) ?? "unknown" },
        "the audit trail could not be merged or shortened",
      ),
    )
    .finally(() => {
      trail.maintaining = undefined;
    });
};

const chainCount = (trail: Trail): number => {
  const store = openStore(trail);
  try {
    return chainsOf(store).length;
  } finally {
    store.close();
  }
};

const end = (trail: Trail): void => {
  flush(trail);
  const { chain, parts } = trail;
  if (chain === undefined) return;
  trail.chain = undefined;
  const now = parts.today();
  let isWhole = false;
  try {
    append(trail, chain, { kind: "close" }, now);
    isWhole = true;
  } finally {
    closeChain(chain, isWhole);
  }
};

/** The answer has left, or nothing has to be recorded any more: the log is all that can be told. */
const endQuietly = (trail: Trail): void => {
  try {
    end(trail);
  } catch (error) {
    trail.parts.log.warn(
      { code: systemErrorCode(error) ?? "unknown" },
      "the audit trail could not be closed",
    );
  }
};

/** The audit trail of a workspace, as one process writes it: nothing is made before the first record. */
export const createAuditTrail = (parts: TrailParts) => {
  const trail: Trail = {
    parts,
    owners: createOwners(parts.pid),
    key: undefined,
    chain: undefined,
    checkedAt: 0,
    maintainedAt: 0,
    missed: 0,
    waiting: [],
    timer: undefined,
    maintaining: undefined,
  };
  const record = (entry: AuditEntry): void => {
    try {
      if (parts.settings().enabled) {
        flush(trail);
        write(trail, entry, parts.today());
      } else endQuietly(trail);
    } catch (error) {
      fail(trail, entry, error);
    }
  };
  return {
    record,
    recordRead: (make: () => AuditEntry): void => {
      if (mayWait(trail)) wait(trail, make);
      else record(make());
    },
    close: async (): Promise<void> => {
      try {
        if (trail.chain !== undefined && chainCount(trail) > MAX_CHAINS) maintainSoon(trail);
      } catch {
        // Whoever closes next counts again.
      }
      await trail.maintaining;
      endQuietly(trail);
    },
  };
};

export type LocalAuditTrail = ReturnType<typeof createAuditTrail>;
