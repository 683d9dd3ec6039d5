import { fdatasyncSync } from "node:fs";
import { exhausted, LlmcError } from "../../base/error.ts";
import { systemErrorCode } from "../../base/system-error.ts";
import { encodeFields } from "../../observe/audit/bounded.ts";
import type { AuditEntry } from "../../observe/audit/entry.ts";
import { createOwners } from "../os/process-owner.ts";
import { changeAlone } from "./audit-lock.ts";
import { appendRecord, type ChainState, closeChain, isChainThere, openChain } from "./chain-writer.ts";
import { chainsOf } from "./heads.ts";
import { maintainChains } from "./maintenance.ts";
import type { AuditSettings } from "./settings.ts";
import { type AuditKey, type AuditPaths, makeAuditStore, openAuditKey, RECORDS } from "./store.ts";
import { createWaitingReads } from "./waiting-reads.ts";

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
interface Trail {
  readonly parts: TrailParts;
  readonly owners: ReturnType<typeof createOwners>;
  key: AuditKey | undefined;
  chain: ChainState | undefined;
  checkedAt: number;
  maintainedAt: number;
  /** Records that could not be written since the last one that was. */
  missed: number;
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

const append = (
  trail: Trail,
  chain: ChainState,
  entry: AuditEntry | OwnEntry,
  now: Date,
  recordedAt = now,
): void => {
  const { maxFileBytes, sync } = trail.parts.settings();
  const fields = encodeFields({ time: recordedAt.toISOString(), ...entry });
  const isNewFile = appendRecord(chain, fields, {
    now,
    maxFileBytes,
    sync: sync ? fdatasyncSync : undefined,
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

/** Says what is missing as soon as it can be written again. */
const closeGap = (trail: Trail, now: Date): ChainState => {
  const chain = current(trail, now);
  if (trail.missed > 0) {
    append(trail, chain, { kind: "gap", missed: trail.missed }, now);
    trail.missed = 0;
    trail.parts.log.warn({}, "the audit trail is written again");
  }
  return chain;
};

/** `recordedAt`: the time of the call, which for a read that waited has passed. */
const write = (trail: Trail, entry: AuditEntry, recordedAt: Date): void => {
  const now = trail.parts.today();
  const chain = closeGap(trail, now);
  append(trail, chain, entry, now, recordedAt);
  if (now.getTime() - trail.maintainedAt > DAY_MS) maintainSoon(trail);
};

/**
 * A read changes nothing, so its record may follow its answer: written at once, it would take as long as half of a call
 * that does nothing. That ends when one cannot be written: then each is written before its answer again.
 */
const mayWait = ({ chain, missed, parts }: Trail): boolean => {
  const { enabled, sync } = parts.settings();
  return chain !== undefined && missed === 0 && enabled && !sync;
};

const REFUSED_WRITES: ReadonlySet<string> = new Set(["EACCES", "EPERM", "EROFS"]);

const hintFor = (code: string): string =>
  REFUSED_WRITES.has(code)
    ? `The operator has to make ${RECORDS} and the user's state folder writable (llmc doctor tells which is not), or let calls that only read go on unrecorded: mcp.audit.unaudited_reads = true.`
    : `The operator has to free space, or make ${RECORDS} and the user's state folder writable.`;

/** What is in the place of the trail's folder is no matter of space: the answer names it, and what to do. */
const unavailable = (code: string, cause: unknown): LlmcError =>
  exhausted(code, cause) ??
  new LlmcError(
    "audit_unavailable",
    `The audit trail cannot be written (${code}), so what must be recorded is not done.${cause instanceof LlmcError ? ` ${cause.message}` : ""}`,
    {
      hint: cause instanceof LlmcError && cause.hint !== undefined ? cause.hint : hintFor(code),
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
    await changeAlone(store, (locked) => {
      if (trail.chain !== chain) return;
      maintainChains({
        store: locked,
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

/** The answer has been sent, or nothing has to be recorded any more: all that is left is to log it. */
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
    maintaining: undefined,
  };
  const reads = createWaitingReads({
    now: parts.today,
    write: (entry, recordedAt) => write(trail, entry, recordedAt),
    onFailure: (error, records) => noteFailure(trail, error, records),
  });
  const record = (entry: AuditEntry): void => {
    try {
      reads.flush();
      if (parts.settings().enabled) write(trail, entry, parts.today());
      else endQuietly(trail);
    } catch (error) {
      fail(trail, entry, error);
    }
  };
  return {
    record,
    recordRead: (make: () => AuditEntry): void => {
      if (mayWait(trail)) reads.add(make);
      else record(make());
    },
    missed: (): number => trail.missed,
    check: (): void => {
      if (trail.missed === 0 || !parts.settings().enabled) return;
      try {
        closeGap(trail, parts.today());
      } catch (error) {
        throw unavailable(codeOf(error), error);
      }
    },
    close: async (): Promise<void> => {
      try {
        if (trail.chain !== undefined && chainCount(trail) > MAX_CHAINS) maintainSoon(trail);
      } catch {
        // Whoever closes next counts again.
      }
      await trail.maintaining;
      reads.flush();
      endQuietly(trail);
    },
  };
};

export type LocalAuditTrail = ReturnType<typeof createAuditTrail>;
