import { isRecord } from "../../base/is-record.ts";
import {
  type ChainReader,
  encodeRecord,
  GENESIS,
  judgeLink,
  type Link,
  NOT_SIGNED,
  type Problem,
  problem,
  readRecord,
  type Sign,
  type SignedRecord,
} from "./chain.ts";

/**
 * The archive: one chain that takes in the short chains of processes that have ended, each of them whole and followed by
 * a record that seals it. So a chain cannot be left out, and thousands of processes make a few files.
 */
export const ARCHIVE = "archive";

interface Seal {
  readonly of: string;
  readonly records: number;
  readonly last: string;
}

/** The record that seals a chain; its time is that of the chain's last record, so that it can be computed again. */
export const encodeSeal = (
  sign: Sign,
  after: Link,
  { chain, last, time }: { readonly chain: string; readonly last: Link; readonly time: string },
): ReturnType<typeof encodeRecord> =>
  encodeRecord(
    sign,
    ARCHIVE,
    after,
    JSON.stringify({ kind: "sealed", time, of: chain, records: last.seq, last: last.mac }),
  );

const readSeal = (line: string): Seal | undefined => {
  const value: unknown = JSON.parse(line);
  if (!isRecord(value)) return undefined;
  const { of, records, last } = value;
  return typeof of === "string" && typeof records === "number" && typeof last === "string"
    ? { of, records, last }
    : undefined;
};

interface Unsealed {
  readonly chain: string;
  last: Link;
}

const unsealed = ({ chain, last }: Unsealed): Problem =>
  problem("unsealed", `the chain ${chain} ends after record ${last.seq} without its seal`);

const judgeSeal = (line: string, inner: Unsealed | undefined): Problem | undefined => {
  const seal = readSeal(line);
  if (seal === undefined) return NOT_SIGNED;
  const { chain, last } = inner ?? { chain: seal.of, last: GENESIS };
  if (chain !== seal.of) return problem("removed", `the chain ${seal.of} should be here, not ${chain}`);
  return last.seq === seal.records && last.mac === seal.last
    ? undefined
    : problem(
        "removed",
        `records after ${last.seq} of the chain ${chain} should be here, up to ${seal.records}`,
      );
};

/** Follows the archive, and the chains in it. `push` of an inner record counts it, `end` finds a chain without its seal. */
export const createArchiveReader = (sign: Sign, from: Link): ChainReader & { end(): Problem | undefined } => {
  let last = from;
  let inner: Unsealed | undefined;
  const pushInner = (record: SignedRecord): Problem | undefined => {
    const current = inner ?? { chain: record.chain, last: GENESIS };
    if (record.chain !== current.chain) return unsealed(current);
    const found = judgeLink(record, current.chain, current.last);
    if (found === undefined) inner = { chain: current.chain, last: { seq: record.seq, mac: record.mac } };
    return found;
  };
  return {
    get last() {
      return last;
    },
    push: (line) => {
      const record = readRecord(sign, line);
      if (record === undefined) return NOT_SIGNED;
      if (record.chain !== ARCHIVE) return pushInner(record);
      const found = judgeLink(record, ARCHIVE, last) ?? judgeSeal(line, inner);
      if (found !== undefined) return found;
      last = { seq: record.seq, mac: record.mac };
      inner = undefined;
      return undefined;
    },
    end: () => (inner === undefined ? undefined : unsealed(inner)),
  };
};
