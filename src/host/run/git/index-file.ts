/** A file that git keeps, and the id of its content there. */
export interface TrackedFile {
  readonly name: string;
  /** In hex. */
  readonly blob: string;
}

/** More than the index of the largest public repositories. */
export const MAX_INDEX_BYTES = 256 * 1024 * 1024;

const SIGNATURE = "DIRC";
const HEADER_BYTES = 12;
/** Times, device, inode, mode, owner and size of a file; its hash and flags follow. */
const STAT_BYTES = 40;
const EXTENDED = 0x4000;

/** How many bytes of the previous name are dropped, as git's variable-length integer. */
const readLength = (index: Buffer, at: number): readonly [length: number, next: number] => {
  let byte = index.readUInt8(at);
  let length = byte & 0x7f;
  let next = at + 1;
  while ((byte & 0x80) !== 0) {
    byte = index.readUInt8(next++);
    length = (length + 1) * 128 + (byte & 0x7f);
  }
  return [length, next];
};

/** No path is longer. The fourth version of the format packs names, so an index could stand for any number of bytes. */
const MAX_NAME_BYTES = 4096;
/** How many times longer than the index all names may be together: paths would have 250 bytes on average. */
const MAX_UNPACKED = 4;

type IsWanted = (name: string) => boolean;

const readFiles = (
  index: Buffer,
  hashBytes: number,
  isWanted: IsWanted,
): readonly TrackedFile[] | undefined => {
  const version = index.readUInt32BE(4);
  const count = index.readUInt32BE(8);
  const files: TrackedFile[] = [];
  /** The bytes of the name, of which the next one keeps some. */
  const bytes = Buffer.alloc(MAX_NAME_BYTES);
  let length = 0;
  let unpacked = 0;
  let at = HEADER_BYTES;
  for (let i = 0; i < count; i++) {
    const start = at;
    const flags = index.readUInt16BE(start + STAT_BYTES + hashBytes);
    at = start + STAT_BYTES + hashBytes + (version > 2 && (flags & EXTENDED) !== 0 ? 4 : 2);
    let kept = 0;
    if (version === 4) {
      const [dropped, next] = readLength(index, at);
      kept = length - dropped;
      at = next;
    }
    const end = index.indexOf(0, at);
    if (end < 0 || kept < 0) return undefined;
    length = kept + end - at;
    unpacked += length;
    if (length > MAX_NAME_BYTES || unpacked > MAX_UNPACKED * index.length) return undefined;
    index.copy(bytes, kept, at, end);
    const name = bytes.toString("utf8", 0, length);
    if (isWanted(name))
      files.push({ name, blob: index.toString("hex", start + STAT_BYTES, start + STAT_BYTES + hashBytes) });
    at = version === 4 ? end + 1 : start + Math.ceil((end - start + 1) / 8) * 8;
  }
  // What follows is the checksum, or an extension, which is named by letters; of them, `link` points to more names.
  const rest = index.length - hashBytes - at;
  const extension = index.toString("latin1", at, at + 4);
  const isWhole = rest === 0 || (rest >= 8 && /^[A-Za-z]{4}$/.test(extension) && extension !== "link");
  return isWhole ? files : undefined;
};

/** Those of the files that git keeps which are wanted, from its index (gitformat-index(5)); undefined where it is not one we can read. */
export const trackedFiles = (index: Buffer, isWanted: IsWanted): readonly TrackedFile[] | undefined => {
  if (index.length < HEADER_BYTES || index.toString("latin1", 0, 4) !== SIGNATURE) return undefined;
  const version = index.readUInt32BE(4);
  if (version < 2 || version > 4) return undefined;
  for (const hashBytes of [20, 32]) {
    try {
      const files = readFiles(index, hashBytes, isWanted);
      if (files !== undefined) return files;
    } catch {
      // Read past its end: not this kind of hash.
    }
  }
  return undefined;
};
