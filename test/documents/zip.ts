import { crc32, deflateRawSync } from "node:zlib";

const header = (signature: number, size: number): Buffer => {
  const bytes = Buffer.alloc(size);
  bytes.writeUInt32LE(signature, 0);
  return bytes;
};

/** 1980-01-01, the first that the format knows: equal members make equal archives. */
const FIRST_DAY = 0x21;

/** An archive of deflated members, with the sizes that a test wants its headers to name. */
export const zipOf = (members: Readonly<Record<string, string | Buffer>>, namedBytes?: number): Buffer => {
  const locals: Buffer[] = [];
  const central: Buffer[] = [];
  let at = 0;
  for (const [name, content] of Object.entries(members)) {
    const [nameBytes, raw] = [Buffer.from(name), Buffer.from(content)];
    const data = deflateRawSync(raw);
    const local = header(0x04034b50, 30);
    local.writeUInt16LE(8, 8);
    local.writeUInt16LE(FIRST_DAY, 12);
    local.writeUInt32LE(crc32(raw), 14);
    local.writeUInt32LE(data.length, 18);
    local.writeUInt32LE(namedBytes ?? raw.length, 22);
    local.writeUInt16LE(nameBytes.length, 26);
    const entry = header(0x02014b50, 46);
    entry.writeUInt16LE(8, 10);
    entry.writeUInt16LE(FIRST_DAY, 14);
    entry.writeUInt32LE(crc32(raw), 16);
    entry.writeUInt32LE(data.length, 20);
    entry.writeUInt32LE(namedBytes ?? raw.length, 24);
    entry.writeUInt16LE(nameBytes.length, 28);
    entry.writeUInt32LE(at, 42);
    locals.push(local, nameBytes, data);
    central.push(entry, nameBytes);
    at += local.length + nameBytes.length + data.length;
  }
  const end = header(0x06054b50, 22);
  end.writeUInt16LE(Object.keys(members).length, 8);
  end.writeUInt16LE(Object.keys(members).length, 10);
  end.writeUInt32LE(Buffer.concat(central).length, 12);
  end.writeUInt32LE(at, 16);
  return Buffer.concat([...locals, ...central, end]);
};

const WORD = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"';

/** A Word document with this body. */
export const docxOf = (body: string, more: Readonly<Record<string, string>> = {}): Buffer =>
  zipOf({
    "word/document.xml": `<?xml version="1.0"?><w:document ${WORD}><w:body>${body}</w:body></w:document>`,
    ...more,
  });

export const paragraph = (text: string, style?: string): string =>
  `<w:p>${style === undefined ? "" : `<w:pPr><w:pStyle w:val="${style}"/></w:pPr>`}<w:r><w:t>${text}</w:t></w:r></w:p>`;
