import { inflateRawSync } from "node:zlib";
import { DocumentFailure } from "./limits.ts";

/** As the parts of office documents are encoded. */
export const utf8 = (bytes: Uint8Array): string => new TextDecoder("utf-8").decode(bytes);

/** The members of an archive that are asked for by name; nothing else is decompressed. */
export interface ZipArchive {
  /** Undefined where there is none of that name. */
  read(name: string): Uint8Array | undefined;
}

interface Member {
  readonly method: number;
  readonly compressedBytes: number;
  readonly headerAt: number;
}

const END_SIGNATURE = 0x06054b50;
const MEMBER_SIGNATURE = 0x02014b50;
const LOCAL_SIGNATURE = 0x04034b50;
const END_BYTES = 22;
const MAX_COMMENT_BYTES = 0xffff;
const MAX_MEMBERS = 10_000;
const STORED = 0;
const DEFLATED = 8;

const broken = (): DocumentFailure =>
  new DocumentFailure("invalid_args", "The archive of the document is damaged.");

const findEnd = (bytes: Buffer): number => {
  const first = Math.max(0, bytes.length - END_BYTES - MAX_COMMENT_BYTES);
  for (let at = bytes.length - END_BYTES; at >= first; at--)
    if (bytes.readUInt32LE(at) === END_SIGNATURE) return at;
  throw broken();
};

const readMembers = (bytes: Buffer): ReadonlyMap<string, Member> => {
  const end = findEnd(bytes);
  const count = bytes.readUInt16LE(end + 10);
  if (count > MAX_MEMBERS)
    throw new DocumentFailure("file_too_large", "The archive of the document has too many members.");
  const members = new Map<string, Member>();
  let at = bytes.readUInt32LE(end + 16);
  for (let index = 0; index < count; index++) {
    if (bytes.readUInt32LE(at) !== MEMBER_SIGNATURE) throw broken();
    const [nameBytes, extraBytes, commentBytes] = [28, 30, 32].map((field) => bytes.readUInt16LE(at + field));
    const name = bytes.toString("utf8", at + 46, at + 46 + (nameBytes ?? 0));
    members.set(name, {
      method: bytes.readUInt16LE(at + 10),
      compressedBytes: bytes.readUInt32LE(at + 20),
      headerAt: bytes.readUInt32LE(at + 42),
    });
    at += 46 + (nameBytes ?? 0) + (extraBytes ?? 0) + (commentBytes ?? 0);
  }
  return members;
};

const inflate = (data: Buffer, maxBytes: number): Uint8Array => {
  try {
    return inflateRawSync(data, { maxOutputLength: maxBytes });
  } catch (thrown) {
    const isBomb = thrown instanceof Error && "code" in thrown && thrown.code === "ERR_BUFFER_TOO_LARGE";
    throw isBomb
      ? new DocumentFailure(
          "file_too_large",
          `The document is larger than ${maxBytes} bytes when it is decompressed.`,
        )
      : broken();
  }
};

const readMember = (
  bytes: Buffer,
  { method, compressedBytes, headerAt }: Member,
  maxBytes: number,
): Uint8Array => {
  if (bytes.readUInt32LE(headerAt) !== LOCAL_SIGNATURE) throw broken();
  const from = headerAt + 30 + bytes.readUInt16LE(headerAt + 26) + bytes.readUInt16LE(headerAt + 28);
  const data = bytes.subarray(from, from + compressedBytes);
  if (method === STORED) return data;
  if (method === DEFLATED) return inflate(data, maxBytes);
  throw broken();
};

/**
 * Opens an archive. What its headers say about sizes is not believed: decompression itself ends at the bound, which all
 * members share.
 */
export const openZip = (content: Uint8Array, maxBytes: number): ZipArchive => {
  const bytes = Buffer.from(content.buffer, content.byteOffset, content.byteLength);
  let left = maxBytes;
  const guarded = <T>(work: () => T): T => {
    try {
      return work();
    } catch (thrown) {
      // An offset that lies outside of the archive.
      if (thrown instanceof RangeError) throw broken();
      throw thrown;
    }
  };
  const members = guarded(() => readMembers(bytes));
  return {
    read: (name) => {
      const member = members.get(name);
      if (member === undefined) return undefined;
      const data = guarded(() => readMember(bytes, member, Math.max(1, left)));
      left -= data.length;
      return data;
    },
  };
};
