import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import { inflateSync } from "node:zlib";
import type { Budget } from "./budget.ts";

/** The list of a folder of some forty thousand entries; a larger object is not read. */
export const MAX_OBJECT_BYTES = 2 * 1024 * 1024;
/** Git makes chains of 50; in a longer one, somebody wants us to be slow. */
const MAX_CHAIN = 60;

/** Of a difference that is applied, or of anything else that takes so many steps: then the time is looked at. */
const STEPS = 1024;
/** Neighbours in a chain have their bases in common. */
const MAX_BASES = 1000;

/** Opening never waits, and a link is not followed: it may lead out of the roots. */
const FLAGS = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY | constants.O_NOFOLLOW;

const SIGNATURE = 0xff744f63;
const VERSION = 2;
const FANOUT_AT = 8;
const NAMES_AT = FANOUT_AT + 256 * 4;
const ID_BYTES = 20;
const LARGE_OFFSET = 0x80000000;

/** As packs number them: 1 is a commit, 2 a tree. */
export interface PackedObject {
  readonly type: number;
  readonly content: Buffer;
}

interface OpenFile {
  readonly size: number;
  /** Fewer bytes at the end of the file. */
  at(offset: number, length: number): Buffer;
  close(): void;
}

const openFile = (path: string): OpenFile | undefined => {
  let fd: number;
  try {
    fd = openSync(path, FLAGS);
  } catch {
    return undefined;
  }
  const stats = fstatSync(fd);
  if (!stats.isFile()) {
    closeSync(fd);
    return undefined;
  }
  return {
    size: stats.size,
    at: (offset, length) => {
      const bytes = Buffer.allocUnsafe(Math.max(0, Math.min(length, stats.size - offset)));
      return bytes.subarray(0, readSync(fd, bytes, 0, bytes.length, offset));
    },
    close: () => closeSync(fd),
  };
};

/** Where an object lies in the pack, by binary search in the sorted names of the index. */
const findOffset = (index: Buffer, id: Buffer): number | undefined => {
  const upTo = (first: number): number => (first < 0 ? 0 : index.readUInt32BE(FANOUT_AT + first * 4));
  const count = upTo(255);
  const first = id[0] ?? 0;
  let low = upTo(first - 1);
  let high = upTo(first);
  while (low < high) {
    const middle = (low + high) >>> 1;
    const nameAt = NAMES_AT + middle * ID_BYTES;
    const order = index.compare(id, 0, ID_BYTES, nameAt, nameAt + ID_BYTES);
    if (order === 0) {
      // After the names, every object has a checksum and an offset of four bytes each.
      const offsetsAt = NAMES_AT + count * (ID_BYTES + 4);
      const offset = index.readUInt32BE(offsetsAt + middle * 4);
      if (offset < LARGE_OFFSET) return offset;
      return Number(index.readBigUInt64BE(offsetsAt + count * 4 + (offset - LARGE_OFFSET) * 8));
    }
    if (order < 0) low = middle + 1;
    else high = middle;
  }
  return undefined;
};

/** Seven bits a byte, the lowest first. */
const readVarint = (bytes: Buffer, start: number): { readonly value: number; readonly next: number } => {
  let value = 0;
  let next = start;
  for (let shift = 0; ; shift += 7) {
    const byte = bytes.readUInt8(next++);
    value += (byte & 0x7f) * 2 ** shift;
    if (byte < 0x80) return { value, next };
  }
};

interface Entry {
  readonly type: number;
  readonly size: number;
  /** Where its compressed bytes begin. */
  readonly dataAt: number;
  /** What a difference is to be applied to: an offset, or the id of an object of the same pack. */
  readonly base: number | Buffer | undefined;
}

const OFFSET_DELTA = 6;
const ID_DELTA = 7;
/** Type, size and base of an entry have never more bytes. */
const MAX_ENTRY_HEADER = 64;

const readEntry = (pack: OpenFile, offset: number): Entry => {
  const bytes = pack.at(offset, MAX_ENTRY_HEADER);
  const first = bytes.readUInt8(0);
  const type = (first >> 4) & 7;
  let size = first & 15;
  let next = 1;
  if (first >= 0x80) {
    const rest = readVarint(bytes, 1);
    size += rest.value * 16;
    next = rest.next;
  }
  if (type === ID_DELTA)
    return {
      type,
      size,
      dataAt: offset + next + ID_BYTES,
      base: Buffer.from(bytes.subarray(next, next + ID_BYTES)),
    };
  if (type !== OFFSET_DELTA) return { type, size, dataAt: offset + next, base: undefined };
  let byte = bytes.readUInt8(next++);
  let back = byte & 0x7f;
  while (byte >= 0x80) {
    byte = bytes.readUInt8(next++);
    back = (back + 1) * 128 + (byte & 0x7f);
  }
  return { type, size, dataAt: offset + next, base: offset - back };
};

const inflate = (pack: OpenFile, { size, dataAt }: Entry, budget: Budget): Buffer => {
  if (size > MAX_OBJECT_BYTES) throw new Error("the object is too large");
  budget.spend(size);
  // What does not get smaller is stored with some bytes for every block.
  const bytes = inflateSync(pack.at(dataAt, size + (size >> 8) + 128), {
    maxOutputLength: Math.max(1, size),
  });
  if (bytes.length !== size) throw new Error("the object has another size");
  return bytes;
};

const LITERAL_BYTES = 0x7f;
const COPY = 0x80;
/** A copy of no length means this many bytes. */
const FULL_COPY = 0x10000;

/** Copies of the base and new bytes, one after the other. */
const applyDelta = (base: Buffer, delta: Buffer, budget: Budget): Buffer => {
  const baseSize = readVarint(delta, 0);
  const size = readVarint(delta, baseSize.next);
  if (baseSize.value !== base.length || size.value > MAX_OBJECT_BYTES)
    throw new Error("the base is another one");
  budget.spend(size.value);
  const result = Buffer.alloc(size.value);
  let at = 0;
  let steps = 0;
  let next = size.next;
  while (next < delta.length) {
    const op = delta.readUInt8(next++);
    if (++steps % STEPS === 0) budget.spend(0);
    if (op === 0) throw new Error("git has no such instruction");
    if ((op & COPY) === 0) {
      at += delta.copy(result, at, next, next + (op & LITERAL_BYTES));
      next += op & LITERAL_BYTES;
      continue;
    }
    let from = 0;
    let length = 0;
    for (let bit = 0; bit < 4; bit++) if (op & (1 << bit)) from += delta.readUInt8(next++) * 2 ** (8 * bit);
    for (let bit = 0; bit < 3; bit++)
      if (op & (16 << bit)) length += delta.readUInt8(next++) * 2 ** (8 * bit);
    at += base.copy(result, at, from, from + (length === 0 ? FULL_COPY : length));
  }
  if (at !== result.length) throw new Error("the difference is incomplete");
  return result;
};

/** Reads objects by where they lie. Throws for what is damaged. */
const createReader = (pack: OpenFile, offsetOf: (id: Buffer) => number | undefined, budget: Budget) => {
  const bases = new Map<number, PackedObject>();

  /** The entries from one back to the whole object that it is made of, or to a known one. */
  const chainOf = (start: number): { readonly whole: PackedObject; readonly deltas: readonly Buffer[] } => {
    const deltas: Buffer[] = [];
    for (let offset: number | undefined = start; offset !== undefined && offset >= 0; ) {
      const known = bases.get(offset);
      if (known !== undefined) return { whole: known, deltas };
      const entry: Entry = readEntry(pack, offset);
      const content = inflate(pack, entry, budget);
      if (entry.base === undefined) return { whole: { type: entry.type, content }, deltas };
      if (deltas.push(content) > MAX_CHAIN) break;
      offset = typeof entry.base === "number" ? entry.base : offsetOf(entry.base);
    }
    throw new Error("the base is missing");
  };

  return (offset: number): PackedObject => {
    const { whole, deltas } = chainOf(offset);
    const content = deltas.reduceRight((base, delta) => applyDelta(base, delta, budget), whole.content);
    const object = { type: whole.type, content };
    if (bases.size >= MAX_BASES) bases.clear();
    bases.set(offset, object);
    return object;
  };
};

/** Name, checksum and offset. */
const INDEX_ENTRY_BYTES = ID_BYTES + 4 + 4;

/** The index of a pack; its head is looked at first, so that nothing else of its size is read. */
const readIndex = (path: string, maxBytes: number, budget: Budget): Buffer | undefined => {
  const file = openFile(path);
  if (file === undefined) return undefined;
  try {
    const head = file.at(0, NAMES_AT);
    if (head.length < NAMES_AT || file.size > maxBytes) return undefined;
    if (head.readUInt32BE(0) !== SIGNATURE || head.readUInt32BE(4) !== VERSION) return undefined;
    const count = head.readUInt32BE(NAMES_AT - 4);
    const least = NAMES_AT + count * INDEX_ENTRY_BYTES;
    // Offsets of eight bytes and two checksums of the files may follow.
    if (file.size < least || file.size > least + count * 8 + 2 * ID_BYTES) return undefined;
    budget.spend(file.size);
    return file.at(0, file.size);
  } finally {
    file.close();
  }
};

/**
 * Undefined where it is no pack of the usual format.
 * @param maxIndexBytes the history of a larger pack is not read
 */
export const openPack = (path: string, maxIndexBytes: number, budget: Budget) => {
  const index = readIndex(`${path}.idx`, maxIndexBytes, budget);
  if (index === undefined) return undefined;
  const pack = openFile(`${path}.pack`);
  if (pack === undefined) return undefined;
  const offsetOf = (id: Buffer): number | undefined => findOffset(index, id);
  const read = createReader(pack, offsetOf, budget);
  return {
    /** Undefined where the object is not in this pack. */
    read: (id: string): PackedObject | undefined => {
      const offset = offsetOf(Buffer.from(id, "hex"));
      return offset === undefined ? undefined : read(offset);
    },
    indexBytes: index.length,
    close: pack.close,
  };
};

export type Pack = NonNullable<ReturnType<typeof openPack>>;
