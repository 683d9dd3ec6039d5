import type { Readable } from "node:stream";

const BOM = [0xef, 0xbb, 0xbf];

/**
 * All text of a stream; undefined where it has more bytes than allowed. It is collected in one block that grows in place,
 * decoded once, and its memory given back at once: a large text is never held three times.
 */
export const readBounded = async (stream: Readable, maxBytes: number): Promise<string | undefined> => {
  const block = new ArrayBuffer(0, { maxByteLength: maxBytes });
  for await (const part of stream) {
    const bytes = part as Buffer;
    const end = block.byteLength;
    if (end + bytes.length > maxBytes) return undefined;
    block.resize(end + bytes.length);
    new Uint8Array(block).set(bytes, end);
  }
  const all = Buffer.from(block);
  const text = all.toString("utf8", BOM.every((byte, at) => all[at] === byte) ? BOM.length : 0);
  block.transfer(0);
  return text;
};
