/** Signs a text with the key of the audit: HMAC-SHA256 as Base64url, 43 characters. */
export type Sign = (text: string) => string;

/** A position in a chain: the record with this number, and its signature. */
export interface Link {
  readonly seq: number;
  readonly mac: string;
}

/** Before the first record of a chain. */
export const GENESIS: Link = { seq: 0, mac: "" };

export const MAC_CHARS = 43;
export const MAC_KEY = ',"mac":"';
const END = '"}';
const TAIL_CHARS = MAC_KEY.length + MAC_CHARS + END.length;

/** Chain, number and predecessor come first and in one form, so that they are read without parsing the record. */
const HEAD = /^\{"chain":"([0-9a-z-]{1,64})","seq":([1-9]\d{0,15}),"prev":"([\w-]{0,43})",/;

/** How the record after a link begins. */
export const startOf = (chain: string, { seq, mac }: Link): string =>
  `{"chain":"${chain}","seq":${seq + 1},"prev":"${mac}",`;

/** The line of the next record, without its line feed. `fields` is a JSON object with at least one member. */
export const encodeRecord = (
  sign: Sign,
  chain: string,
  after: Link,
  fields: string,
): { readonly line: string; readonly link: Link } => {
  const signed = startOf(chain, after) + fields.slice(1, -1);
  const mac = sign(signed);
  return { line: signed + MAC_KEY + mac + END, link: { seq: after.seq + 1, mac } };
};

/** A record whose signature is valid. */
export interface SignedRecord extends Link {
  readonly chain: string;
  readonly prev: string;
}

/** Undefined if the line is anything but a record with a valid signature: not one byte of it may differ. */
export const readRecord = (sign: Sign, line: string): SignedRecord | undefined => {
  const [, chain, seq, prev] = HEAD.exec(line) ?? [];
  if (chain === undefined || seq === undefined || prev === undefined) return undefined;
  const end = line.length - TAIL_CHARS;
  const mac = line.slice(end + MAC_KEY.length, -END.length);
  if (line.slice(end, end + MAC_KEY.length) !== MAC_KEY || !line.endsWith(END)) return undefined;
  // Whoever can compare times here has the files, and could try signatures without us.
  return sign(line.slice(0, end)) === mac ? { chain, seq: Number(seq), prev, mac } : undefined;
};

export type Flaw = "changed" | "removed" | "reordered" | "cut" | "foreign" | "unsealed";

/** What is wrong with a line of a chain, in a word for programs and a sentence for people. */
export interface Problem {
  readonly what: Flaw;
  readonly detail: string;
}

/** Follows a chain record by record. After a problem, `last` is the last record that was right. */
export interface ChainReader {
  readonly last: Link;
  push(line: string): Problem | undefined;
}

export const problem = (what: Flaw, detail: string): Problem => ({ what, detail });

export const NOT_SIGNED = problem(
  "changed",
  "the record was changed, or was not signed with the key of this workspace's audit",
);

const range = (from: number, to: number): string =>
  from === to ? `record ${from}` : `records ${from} to ${to}`;

/** Why a signed record does not follow another one of its chain. */
export const judgeLink = (record: SignedRecord, chain: string, last: Link): Problem | undefined => {
  const { seq } = record;
  if (record.chain !== chain) return problem("foreign", `a record of the chain ${record.chain} is here`);
  if (seq === last.seq + 1 && record.prev === last.mac) return undefined;
  if (seq > last.seq + 1)
    return problem("removed", `${range(last.seq + 1, seq - 1)} of the chain ${chain} should be here`);
  return problem("reordered", `record ${seq} of the chain ${chain} is here, after record ${last.seq}`);
};

export const createChainReader = (sign: Sign, chain: string, from: Link): ChainReader => {
  let last = from;
  return {
    get last() {
      return last;
    },
    push: (line) => {
      const record = readRecord(sign, line);
      if (record === undefined) return NOT_SIGNED;
      const found = judgeLink(record, chain, last);
      if (found === undefined) last = { seq: record.seq, mac: record.mac };
      return found;
    },
  };
};
