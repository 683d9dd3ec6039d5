import { LlmcError } from "../../base/error.ts";

/** JSON with comments and trailing commas, as VS Code and Zed use it, with the position of every part. */
export interface JsoncNode {
  readonly start: number;
  readonly end: number;
  readonly value: unknown;
  /** Present for objects only. */
  readonly members: readonly JsoncMember[] | undefined;
}

export interface JsoncMember {
  readonly key: string;
  /** Position of the key's opening quote. */
  readonly start: number;
  readonly node: JsoncNode;
  /** Position of the comma after the value, if there is one. */
  readonly comma: number | undefined;
}

export interface JsoncObject extends JsoncNode {
  readonly members: readonly JsoncMember[];
}

/** Far more than a settings file needs, and far less than the stack holds. */
const MAX_DEPTH = 200;

export const isObject = (node: JsoncNode): node is JsoncObject => node.members !== undefined;

/** The message never quotes the file: settings hold secrets. */
export const refuseAt = (file: string, text: string, offset: number, reason: string): never => {
  const before = text.slice(0, offset);
  const line = before.split("\n").length;
  const column = offset - before.lastIndexOf("\n");
  throw new LlmcError("invalid_args", `${file}:${line}:${column}: ${reason}.`, {
    hint: "Nothing was written. Correct the file, or add the entry by hand.",
    details: { file, line },
  });
};

/** Parses the text; undefined if it holds nothing but white space and comments. */
export const parseJsonc = (text: string, file: string): JsoncNode | undefined => {
  const fail = (offset: number, reason: string): never => refuseAt(file, text, offset, reason);

  const skipTrivia = (from: number): number => {
    let at = from;
    for (;;) {
      const char = text[at];
      if (char === " " || char === "\t" || char === "\n" || char === "\r") at++;
      else if (text.startsWith("//", at)) {
        while (at < text.length && text[at] !== "\n" && text[at] !== "\r") at++;
      } else if (text.startsWith("/*", at)) {
        const close = text.indexOf("*/", at + 2);
        if (close === -1) fail(at, "the comment is not closed");
        at = close + 2;
      } else return at;
    }
  };

  const leaf = (start: number, end: number, reason: string): JsoncNode => {
    try {
      return { start, end, value: JSON.parse(text.slice(start, end)), members: undefined };
    } catch {
      return fail(start, reason);
    }
  };

  const parseString = (start: number): JsoncNode => {
    let at = start + 1;
    while (at < text.length && text[at] !== '"' && text[at] !== "\n") at += text[at] === "\\" ? 2 : 1;
    if (text[at] !== '"') fail(start, "the string is not closed");
    return leaf(start, at + 1, "the string has a character or an escape that JSON does not allow");
  };

  /** The items of an object or array, with commas between them and perhaps one more at the end. */
  const parseItems = (start: number, close: string, parseItem: (at: number) => number): number => {
    let at = skipTrivia(start + 1);
    while (text[at] !== close) {
      const end = parseItem(at);
      at = skipTrivia(end);
      if (text[at] === ",") at = skipTrivia(at + 1);
      else if (text[at] !== close) fail(at, `expected "," or "${close}"`);
    }
    return at + 1;
  };

  const parseObject = (start: number, depth: number): JsoncObject => {
    const members: JsoncMember[] = [];
    const end = parseItems(start, "}", (at) => {
      if (text[at] !== '"') fail(at, 'expected a key in quotes or "}"');
      const key = parseString(at);
      const colon = skipTrivia(key.end);
      if (text[colon] !== ":") fail(colon, 'expected ":"');
      const node = parseValue(skipTrivia(colon + 1), depth + 1);
      const next = skipTrivia(node.end);
      const comma = text[next] === "," ? next : undefined;
      members.push({ key: String(key.value), start: at, node, comma });
      return node.end;
    });
    // fromEntries, because assigning the key "__proto__" would set the prototype.
    const value = Object.fromEntries(members.map(({ key, node }) => [key, node.value]));
    return { start, end, value, members };
  };

  const parseArray = (start: number, depth: number): JsoncNode => {
    const value: unknown[] = [];
    const end = parseItems(start, "]", (at) => {
      const item = parseValue(at, depth + 1);
      value.push(item.value);
      return item.end;
    });
    return { start, end, value, members: undefined };
  };

  const parseValue = (start: number, depth: number): JsoncNode => {
    if (depth > MAX_DEPTH) fail(start, `nested deeper than ${MAX_DEPTH} levels`);
    if (text[start] === "{") return parseObject(start, depth);
    if (text[start] === "[") return parseArray(start, depth);
    if (text[start] === '"') return parseString(start);
    let end = start;
    while (/[\w.+-]/.test(text[end] ?? "")) end++;
    return leaf(start, end, "expected a value");
  };

  const start = skipTrivia(0);
  if (start === text.length) return undefined;
  const root = parseValue(start, 0);
  const rest = skipTrivia(root.end);
  if (rest !== text.length) fail(rest, "expected the end of the file");
  return root;
};
