/** A file that git keeps, and the id of its content there. */
export interface TrackedFile {
  readonly name: string;
  /** In hex. */
  readonly blob: string;
}

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

const readFiles = (index: Buffer, hashBytes: number): readonly TrackedFile[] | undefined => {
  const version = index.readUInt32BE(4);
  const count = index.readUInt32BE(8);
  const files: TrackedFile[] = [];
  let at = HEADER_BYTES;
  let before = Buffer.alloc(0);
  for (let i = 0; i < count; i++) {
    const start = at;
    const flags = index.readUInt16BE(start + STAT_BYTES + hashBytes);
    at = start + STAT_BYTES + hashBytes + (version > 2 && (flags & EXTENDED) !== 0 ? 4 : 2);
    let kept = 0;
    if (version === 4) {
      const [dropped, next] = readLength(index, at);
      kept = before.length - dropped;
      at = next;
    }
    const end = index.indexOf(0, at);
    if (end < 0 || kept < 0) return undefined;
    const name =
      version === 4
        ? Buffer.concat([before.subarray(0, kept), index.subarray(at, end)])
        : index.subarray(at, end);
    before = Buffer.from(name);
    files.push({
      name: name.toString(),
      blob: index.toString("hex", start + STAT_BYTES, start + STAT_BYTES + hashBytes),
    });
    at = version === 4 ? end + 1 : start + Math.ceil((end - start + 1) / 8) * 8;
  }
  // What follows is the checksum, or an extension, which is named by letters; of them, `link` points to more names.
  const rest = index.length - hashBytes - at;
  const extension = index.toString("latin1", at, at + 4);
  const isWhole = rest === 0 || (rest >= 8 && /^[A-Za-z]{4}$/.test(extension) && extension !== "link");
  return isWhole ? files : undefined;
};

/** The files that git keeps, from its index (gitformat-index(5)); undefined where it is not one we can read. */
export const trackedFiles = (index: Buffer): readonly TrackedFile[] | undefined => {
  if (index.length < HEADER_BYTES || index.toString("latin1", 0, 4) !== SIGNATURE) return undefined;
  const version = index.readUInt32BE(4);
  if (version < 2 || version > 4) return undefined;
  for (const hashBytes of [20, 32]) {
    try {
      const files = readFiles(index, hashBytes);
      if (files !== undefined) return files;
    } catch {
      // Read past its end: not this kind of hash.
    }
  }
  return undefined;
};
