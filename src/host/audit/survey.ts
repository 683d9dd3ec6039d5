import { ARCHIVE } from "../../observe/audit/archive.ts";
import type { Head } from "../../observe/audit/head.ts";
import { endsAtHead } from "./archive-tail.ts";
import type { QuietStore } from "./audit-lock.ts";
import { type AuditProblem, type CheckedChain, checkChain } from "./check-chain.ts";
import { chainsOf, readHead } from "./heads.ts";
import { fileName, type RecordFile, recordFiles, strayNames } from "./record-files.ts";
import { isBeingRemoved } from "./removed-file.ts";
import type { AuditStore } from "./store.ts";

/** All files that have our key's tag, each of them either read under a head or named in a problem. */
export interface AuditSurvey {
  readonly chains: readonly CheckedChain[];
  /** By file, the first problem of each chain. */
  readonly problems: readonly AuditProblem[];
  /** Files that no head vouches for, and files of a chain that come after its first problem. */
  readonly unread: readonly string[];
}

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
    "the user's state folder knows no such file: it was added or put back, comes from elsewhere, or its head was lost",
});

const readHeads = (store: AuditStore) => {
  const found = chainsOf(store).map((chain) => ({ chain, head: readHead(store, chain) }));
  const all = found.flatMap(({ head }) => (head === undefined || head === "damaged" ? [] : [head]));
  const damaged = found.flatMap(({ chain, head }) => (head === "damaged" ? [chain] : []));
  const archive = all.find(({ chain }) => chain === ARCHIVE);
  // What is left of a merge or of a removal that was interrupted when all but the last step was done.
  const sealed = all.find(({ chain }) => chain === archive?.sealed);
  const heads = all.filter((head) => head !== sealed && head.firstPart <= head.part);
  return { all, heads, sealed, damaged };
};

/** What follows the archive's last seal: an interrupted merge of a chain whose own file is still there, or a forgery. */
const checkTail = (store: AuditStore, archive: Head, heads: readonly Head[]): AuditProblem | undefined => {
  const location = { file: fileName(store, ARCHIVE, archive.part), line: null };
  try {
    if (endsAtHead(store, archive, heads)) return undefined;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return { ...location, what: "not_a_file", detail: `the file's end cannot be read: ${reason}` };
  }
  return { ...location, what: "foreign", detail: "something was added after the last record" };
};

const checkHead = (store: AuditStore, head: Head, heads: readonly Head[]): CheckedChain => {
  const checked = checkChain(store, head);
  if (head.chain !== ARCHIVE || checked.problem !== undefined) return checked;
  return { ...checked, problem: checkTail(store, head, heads) };
};

/** A chain's own file that the archive has taken in: it may be gone, and is otherwise as it was. */
const checkSealed = (store: AuditStore, head: Head | undefined) => {
  const { problem, files } = head === undefined ? { problem: undefined, files: [] } : checkChain(store, head);
  return { files, problem: problem?.what === "missing_file" ? undefined : problem };
};

/** Reads everything that has our tag. */
export const surveyAudit = (store: QuietStore): AuditSurvey => {
  // Before the heads: a chain that begins meanwhile has its head before its file.
  const [files, strays] = [recordFiles(store), strayNames(store)];
  const { all, heads, sealed, damaged } = readHeads(store);
  const chains = heads.map((head) => checkHead(store, head, heads));
  const left = checkSealed(store, sealed);
  const problems = [
    ...damaged.map(damagedHead),
    ...[...chains, left].flatMap(({ problem }) => problem ?? []),
  ];
  const read = new Set([...chains, left].flatMap((checked) => checked.files));
  const named = new Set(problems.map(({ file }) => file));
  const known = new Map(all.map((head) => [head.chain, head]));
  /** The first problem of its chain has been named, and this comes after it. */
  const isAfterProblem = ({ chain, part }: RecordFile): boolean => {
    const head = known.get(chain);
    return head === undefined ? damaged.includes(chain) : part >= head.firstPart && part <= head.part;
  };
  const unread = files.filter(({ name, chain, part }) => {
    const head = known.get(chain);
    return !read.has(name) && !(head !== undefined && isBeingRemoved(store, head, part));
  });
  const unknown = unread.filter((file) => !named.has(file.name) && !isAfterProblem(file));
  problems.push(...[...unknown.map(({ name }) => name), ...strays].map(unknownFile));
  return {
    chains,
    problems: problems.toSorted((one, other) => (one.file < other.file ? -1 : 1)),
    unread: unread.map(({ name }) => name),
  };
};
