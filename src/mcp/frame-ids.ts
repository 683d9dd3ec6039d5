import { endOfString } from "../base/json-guard.ts";

type Id = string | number;

/** Whom to answer: null stands for a request whose id cannot be known, none at all for what expects no answer. */
export type Ids = readonly (Id | null)[];

/** The members of an object that tell whether it expects an answer, and under which id. */
interface Envelope {
  id: Id | null;
  hasMethod: boolean;
  hasResult: boolean;
}

/** A response expects no answer: one would be taken for the answer to a request of the client with the same id. */
const idsFor = ({ id, hasMethod, hasResult }: Envelope): Ids => (hasResult && !hasMethod ? [] : [id]);

/** In a batch, members without an id expect no answer; a batch that names nobody is answered to nobody in particular. */
const ofBatch = (members: readonly Ids[]): Ids => {
  const ids = members.flat().filter((id) => id !== null);
  return ids.length === 0 ? [null] : ids;
};

const isId = (value: unknown): value is Id =>
  typeof value === "string" || (typeof value === "number" && Number.isFinite(value));

/** The ids of a parsed message or batch. */
export const idsOf = (value: unknown): Ids => {
  if (Array.isArray(value)) return ofBatch(value.map(idsOf));
  if (typeof value !== "object" || value === null) return [null];
  const hasResult = "result" in value || "error" in value;
  return idsFor({
    id: "id" in value && isId(value.id) ? value.id : null,
    hasMethod: "method" in value,
    hasResult,
  });
};

const ID_VALUE = /\s*:\s*("(?:[^"\\]|\\.){0,200}"|-?\d{1,15})\s*[,}]/y;
const COLON = /\s*:/y;

const matchAt = (pattern: RegExp, text: string, start: number): RegExpExecArray | null => {
  pattern.lastIndex = start;
  return pattern.exec(text);
};

const parseId = (found: string): Id | null => {
  try {
    return JSON.parse(found) as Id;
  } catch {
    return null;
  }
};

const note = (envelope: Envelope, key: string, text: string, after: number): void => {
  if (key === "id") {
    const found = matchAt(ID_VALUE, text, after)?.[1];
    if (found !== undefined) envelope.id ??= parseId(found);
  } else if (matchAt(COLON, text, after) !== null) {
    if (key === "method") envelope.hasMethod = true;
    if (key === "result" || key === "error") envelope.hasResult = true;
  }
};

const emptyEnvelope = (): Envelope => ({ id: null, hasMethod: false, hasResult: false });

/**
 * The ids of a text that is not going to be parsed: it may be broken, cut off, or such that parsing it would cost more
 * memory than anyone should be given. Looks at keys on the outermost level only (in a batch, on the next one).
 */
export const idsIn = (text: string): Ids => {
  const isBatch = /^\s*\[/.test(text);
  const level = isBatch ? 2 : 1;
  const members: Ids[] = [];
  let envelope = emptyEnvelope();
  let depth = 0;
  try {
    for (let i = 0; i < text.length; i++) {
      const char = text[i];
      if (char === '"') {
        const end = endOfString(text, i);
        // The longest key of interest has six letters.
        if (depth === level && end - i <= 7) note(envelope, text.slice(i + 1, end), text, end + 1);
        i = end;
      } else if (char === "{" || char === "[") {
        depth++;
      } else if (char === "}" || char === "]") {
        if (depth === level && isBatch) {
          members.push(idsFor(envelope));
          envelope = emptyEnvelope();
        }
        depth--;
      }
    }
  } catch {
    // A string without an end: what was found before it counts.
  }
  return isBatch ? ofBatch(members) : idsFor(envelope);
};
