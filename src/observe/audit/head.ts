import { isRecord } from "../../base/is-record.ts";
import type { Link, Sign } from "./chain.ts";

/**
 * How far a chain has come, kept in the user's state folder: what the chain's files cannot show by themselves. It is
 * written after the record, so it is at most one record behind.
 */
export interface Head {
  readonly chain: string;
  /** The process that writes the chain. */
  readonly pid: number;
  readonly birth: string;
  /** Where the chain begins now: what lies before was removed by retention. */
  readonly firstPart: number;
  readonly first: Link;
  /** Whether its process has ended it: then nothing comes after `last`. */
  readonly closed: boolean;
  /** Of the archive: the chain that it took in last, whose own file may still be there. */
  readonly sealed: string;
  /** The file that the last record is in, and that file's length in bytes. */
  readonly part: number;
  readonly bytes: number;
  readonly last: Link;
}

/** All heads have one length, so that each is replaced by one write within a page. */
const HEAD_BYTES = 768;

export const MAX_HEAD_BYTES = HEAD_BYTES;

const MAC_KEY = ',"mac":"';

/** What of a head stays while records are added. */
export const encodeStart = ({ chain, pid, birth, firstPart, first, sealed }: Head): string =>
  `{"chain":"${chain}","pid":${pid},"birth":${JSON.stringify(birth)},"first_part":${firstPart},` +
  `"first_seq":${first.seq},"first_mac":"${first.mac}","sealed":"${sealed}"`;

/** `start` is what `encodeStart` made of the same head. */
export const encodeHead = (
  sign: Sign,
  start: string,
  { closed, part, bytes, last }: Pick<Head, "closed" | "part" | "bytes" | "last">,
): string => {
  const text = `${start},"closed":${closed},"part":${part},"bytes":${bytes},"seq":${last.seq},"last":"${last.mac}"`;
  return `${text}${MAC_KEY}${sign(text)}"}`.padEnd(HEAD_BYTES - 1).concat("\n");
};

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;

/** Undefined if it is not a head of this name that was signed with this key. */
export const decodeHead = (sign: Sign, chain: string, text: string): Head | undefined => {
  const line = text.trimEnd();
  const end = line.lastIndexOf(MAC_KEY);
  if (end < 0 || `${line.slice(0, end)}${MAC_KEY}${sign(line.slice(0, end))}"}` !== line) return undefined;
  const value: unknown = JSON.parse(line);
  if (!isRecord(value) || value["chain"] !== chain) return undefined;
  const { pid, birth, first_part, first_seq, first_mac, sealed, closed, part, bytes, seq, last } = value;
  if (![pid, first_part, first_seq, part, bytes, seq].every(isCount)) return undefined;
  return {
    chain,
    pid: Number(pid),
    birth: String(birth),
    firstPart: Number(first_part),
    first: { seq: Number(first_seq), mac: String(first_mac) },
    closed: closed === true,
    sealed: String(sealed),
    part: Number(part),
    bytes: Number(bytes),
    last: { seq: Number(seq), mac: String(last) },
  };
};
