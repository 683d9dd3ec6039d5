import { ARCHIVE } from "../../observe/audit/archive.ts";
import type { Head } from "../../observe/audit/head.ts";
import { type AuditProblem, checkChain } from "./check-chain.ts";
import { archiveTail, isInterruptedMerge } from "./merge.ts";
import { fileName, otherFiles, recordFiles } from "./record-files.ts";
import {
  type AuditPaths,
  type AuditStore,
  auditBusy,
  chainsOf,
  openAuditStore,
  RECORDS,
  readHead,
  withAuditLock,
} from "./store.ts";

export interface AuditReport {
  readonly ok: boolean;
  readonly chains: number;
  readonly files: number;
  readonly records: number;
  /** Records of killed processes that were not written to their end. */
  readonly torn: number;
  /** Files of other keys, which cannot be judged with this one. */
  readonly others: number;
  /** By file, the first problem of each chain. */
  readonly problems: readonly AuditProblem[];
}

/** How long a reader waits for a process that merges chains, in milliseconds. */
const WAIT_MS = 10_000;

const damagedHead = (chain: string): AuditProblem => ({
  file: `${chain}.head`,
  line: null,
  what: "damaged_head",
  detail: "the head in the user's state folder was not signed with the key that is there",
});

const unknownFile = (file: string): AuditProblem => ({
  file,
  line: null,
  what: "unknown_file",
  detail:
    "the user's state folder knows no such file: it was added, comes from elsewhere, or its head was lost",
});

const readHeads = (store: AuditStore) => {
  const found = chainsOf(store).map((chain) => ({ chain, head: readHead(store, chain) }));
  const heads = found.flatMap(({ head }) => (head === undefined || head === "damaged" ? [] : [head]));
  const damaged = found.flatMap(({ chain, head }) => (head === "damaged" ? [chain] : []));
  const archive = heads.find(({ chain }) => chain === ARCHIVE);
  // What is left of a merge or of a removal that was interrupted when all but the last step was done.
  const isDone = ({ chain, firstPart, part }: Head): boolean => chain === archive?.sealed || firstPart > part;
  return { heads: heads.filter((head) => !isDone(head)), done: heads.filter(isDone), damaged, archive };
};

/** What follows the archive's last seal: an interrupted merge of a chain whose own file is still there, or a forgery. */
const checkTail = (store: AuditStore, archive: Head, heads: readonly Head[]): AuditProblem | undefined => {
  try {
    if (isInterruptedMerge(store, archive, archiveTail(store, archive), heads)) return undefined;
  } catch {
    // Reading the chain itself has said why.
    return undefined;
  }
  return {
    file: fileName(store, ARCHIVE, archive.part),
    line: null,
    what: "foreign",
    detail: "something was added after the last record",
  };
};

const verifyStore = (store: AuditStore): AuditReport => {
  const { heads, done, damaged, archive } = readHeads(store);
  const checked = heads.map((head) => ({ head, ...checkChain(store, head) }));
  const problems = [...damaged.map(damagedHead), ...checked.flatMap(({ problem }) => problem ?? [])];
  if (archive !== undefined && !problems.some(({ file }) => file.startsWith(`${ARCHIVE}.`)))
    problems.push(...[checkTail(store, archive, heads)].flatMap((found) => found ?? []));
  const read = new Set(checked.flatMap(({ files }) => files));
  const known = new Map([...heads, ...done].map((head) => [head.chain, head]));
  const isDone = new Set(done.map(({ chain }) => chain));
  const named = new Set(problems.map(({ file }) => file));
  for (const { name, chain, part } of recordFiles(store)) {
    const head = known.get(chain);
    // A file before the first is one that retention was about to remove.
    const isLeft = head !== undefined && (isDone.has(chain) || part < head.firstPart);
    const isUnread = head !== undefined && part <= head.part;
    if (!read.has(name) && !isLeft && !isUnread && !named.has(name) && !damaged.includes(chain))
      problems.push(unknownFile(name));
  }
  problems.sort((one, other) => (one.file < other.file ? -1 : 1));
  return {
    ok: problems.length === 0,
    chains: heads.length,
    files: read.size,
    records: checked.reduce((sum, { records }) => sum + records, 0),
    torn: checked.filter(({ torn }) => torn !== "").length,
    others: otherFiles(store),
    problems: problems.map((one) => ({
      ...one,
      file: one.file.endsWith(".head") ? one.file : `${RECORDS}/${one.file}`,
    })),
  };
};

/** Reads the audit trail of a workspace from beginning to end, and says where it is not as it was written. */
export const verifyAudit = async (paths: AuditPaths): Promise<AuditReport> => {
  const store = openAuditStore(paths);
  try {
    const done = await withAuditLock(store, WAIT_MS, () => verifyStore(store));
    if (done === undefined) throw auditBusy();
    return done.value;
  } finally {
    store.close();
  }
};
