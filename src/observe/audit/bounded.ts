import { ellipsize } from "../../base/text.ts";

/** No record is longer, its line feed included: readers rely on it. */
export const MAX_RECORD_BYTES = 65_536;

/** Of all values. Escaped, a character takes up to six bytes; names of fields and the chain's own ones take some 800. */
const MAX_WHOLE_CHARS = 10_000;
/** 30 fields of as many characters, each escaped to six bytes, and a list of as many stay below the limit. */
const MAX_TEXT_CHARS = 200;
const MAX_ITEMS = 16;

const charsIn = (value: unknown): number => {
  if (typeof value === "string") return value.length;
  if (typeof value !== "object" || value === null) return 0;
  let sum = 0;
  for (const each of Object.values(value)) sum += charsIn(each);
  return sum;
};

const cut = (_key: string, value: unknown): unknown => {
  if (typeof value === "string") return ellipsize(value, MAX_TEXT_CHARS);
  return Array.isArray(value) ? value.slice(0, MAX_ITEMS) : value;
};

/**
 * A record's fields as JSON. Names may come from anybody, such as ids in policy files of a repository: where they are so
 * long that readers could not hold the record, they are cut, and the record says so.
 */
export const encodeFields = (fields: object): string =>
  charsIn(fields) <= MAX_WHOLE_CHARS ? JSON.stringify(fields) : JSON.stringify({ ...fields, cut: true }, cut);
