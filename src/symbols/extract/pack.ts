import type {
  Definition,
  FileSymbols,
  Import,
  Reference,
  ReferenceKind,
  SymbolKind,
} from "./file-symbols.ts";
import { NO_SYMBOLS, qualify } from "./file-symbols.ts";

/** Raised whenever the layout, the meaning of a field or what is extracted changes: older indexes are then built anew. */
export const SYMBOLS_VERSION = 8;

/** Order is part of the format: append only. */
const SYMBOL_KINDS: readonly SymbolKind[] = [
  "class",
  "interface",
  "function",
  "method",
  "constant",
  "variable",
  "field",
  "type",
  "enum",
  "module",
  "macro",
  "alias",
];

/** Order is part of the format: append only. */
export const REFERENCE_KINDS: readonly ReferenceKind[] = [
  "call",
  "type",
  "inherit",
  "import",
  "read",
  "write",
  "decorate",
];

/** Variable-length integers, zigzag encoded: most are small. */
const createWriter = () => {
  let bytes = new Uint8Array(1024);
  let length = 0;
  const strings = new Map<string, number>();
  const number = (value: number): void => {
    if (length + 5 > bytes.length) {
      const larger = new Uint8Array(bytes.length * 2);
      larger.set(bytes);
      bytes = larger;
    }
    let rest = ((value << 1) ^ (value >> 31)) >>> 0;
    while (rest >= 128) {
      bytes[length++] = (rest & 127) | 128;
      rest >>>= 7;
    }
    bytes[length++] = rest;
  };
  return {
    number,
    string: (text: string): void => {
      const known = strings.get(text);
      number(known ?? strings.size);
      if (known === undefined) strings.set(text, strings.size);
    },
    finish: (): { readonly body: Uint8Array; readonly strings: readonly string[] } => ({
      body: bytes.subarray(0, length),
      strings: [...strings.keys()],
    }),
  };
};

/** The compact form of a file's symbols, for the database and for messages between threads. */
export const packSymbols = (symbols: FileSymbols): Uint8Array => {
  const { number, string, finish } = createWriter();
  string(symbols.module);
  number(symbols.definitions.length);
  for (const definition of symbols.definitions) {
    string(definition.name);
    string(definition.type);
    string(definition.parameters);
    number(SYMBOL_KINDS.indexOf(definition.kind) * 2 + (definition.exported ? 1 : 0));
    number(definition.startLine);
    number(definition.line - definition.startLine);
    number(definition.endLine - definition.startLine);
    number(definition.parent);
    // `Store.Open` outside of `Store`: nothing else names the owner.
    const { name, qualified, parent } = definition;
    string(parent < 0 && qualified.length > name.length ? qualified.slice(0, -name.length - 1) : "");
  }
  number(symbols.references.length);
  let line = 0;
  for (const reference of symbols.references) {
    string(reference.name);
    string(reference.receiver);
    string(reference.via);
    number(REFERENCE_KINDS.indexOf(reference.kind));
    number(reference.line - line);
    line = reference.line;
    number(reference.inside);
    number(reference.target);
  }
  number(symbols.imports.length);
  for (const entry of symbols.imports) {
    string(entry.source);
    string(entry.name);
    string(entry.local);
    number(entry.line * 2 + (entry.exported ? 1 : 0));
  }
  const { body, strings } = finish();
  const table = new TextEncoder().encode(JSON.stringify(strings));
  const packed = new Uint8Array(8 + table.length + body.length);
  const head = new DataView(packed.buffer);
  head.setUint32(0, SYMBOLS_VERSION, true);
  head.setUint32(4, table.length, true);
  packed.set(table, 8);
  packed.set(body, 8 + table.length);
  return packed;
};

class Damaged extends Error {}

const createReader = (bytes: Uint8Array, strings: readonly unknown[]) => {
  let at = 0;
  const number = (): number => {
    let value = 0;
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = bytes[at++];
      if (byte === undefined) throw new Damaged();
      value |= (byte & 127) << shift;
      if (byte < 128) return (value >>> 1) ^ -(value & 1);
    }
    throw new Damaged();
  };
  return {
    number,
    string: (): string => {
      const found = strings[number()];
      if (typeof found !== "string") throw new Damaged();
      return found;
    },
    list: <T>(read: (index: number) => T): T[] => {
      const count = number();
      if (count < 0 || count > bytes.length) throw new Damaged();
      return Array.from({ length: count }, (_, index) => read(index));
    },
    kind: <T>(kinds: readonly T[], index: number): T => {
      const found = kinds[index];
      if (found === undefined) throw new Damaged();
      return found;
    },
  };
};

const unpack = (packed: Uint8Array): FileSymbols => {
  const head = new DataView(packed.buffer, packed.byteOffset, packed.byteLength);
  if (packed.length < 8 || head.getUint32(0, true) !== SYMBOLS_VERSION) throw new Damaged();
  const start = 8 + head.getUint32(4, true);
  const strings: unknown = JSON.parse(new TextDecoder().decode(packed.subarray(8, start)));
  if (!Array.isArray(strings)) throw new Damaged();
  const { number, string, list, kind } = createReader(packed.subarray(start), strings);
  const module = string();
  const qualifiedNames: string[] = [];
  const definitions = list((): Definition => {
    const name = string();
    const type = string();
    const parameters = string();
    const flags = number();
    const startLine = number();
    const line = startLine + number();
    const endLine = startLine + number();
    const parent = number();
    const owner = string();
    const qualified = qualify(owner === "" ? qualifiedNames[parent] : owner, name);
    qualifiedNames.push(qualified);
    return {
      name,
      qualified,
      kind: kind(SYMBOL_KINDS, flags >> 1),
      line,
      startLine,
      endLine,
      exported: (flags & 1) === 1,
      parent,
      type,
      parameters,
    };
  });
  let line = 0;
  const references = list((): Reference => {
    const name = string();
    const receiver = string();
    const via = string();
    const referenceKind = kind(REFERENCE_KINDS, number());
    line += number();
    return { name, kind: referenceKind, line, receiver, inside: number(), target: number(), via };
  });
  const imports = list((): Import => {
    const source = string();
    const name = string();
    const local = string();
    const flags = number();
    return { source, name, local, line: flags >> 1, exported: (flags & 1) === 1 };
  });
  return { definitions, references, imports, module };
};

/** Damaged bytes, or those of another version, mean a file without symbols until it is parsed again. */
export const unpackSymbols = (packed: Uint8Array): FileSymbols => {
  try {
    return unpack(packed);
  } catch {
    return NO_SYMBOLS;
  }
};
