import { endOfString } from "../base/json-guard.ts";

type Id = string | number;

/** The ids to answer to: null for a request whose id is unknown; empty if no answer is expected. */
export type Ids = readonly (Id | null)[];

/** What a message that cannot be read is about. */
export interface Addressed {
  readonly ids: Ids;
  /** The question of ours that it was to answer. */
  readonly question: Id | undefined;
}

/** The parts of a message that decide whether it expects an answer, and under which id. */
interface Envelope {
  id: Id | null;
  hasMethod: boolean;
  hasResult: boolean;
}

const emptyEnvelope = (): Envelope => ({ id: null, hasMethod: false, hasResult: false });

/** A response gets no answer: the client would take it for the answer to its own request with the same id. */
const idsFor = ({ id, hasMethod, hasResult }: Envelope): Ids => (hasResult && !hasMethod ? [] : [id]);

const questionFor = ({ id, hasMethod, hasResult }: Envelope): Id | undefined =>
  hasResult && !hasMethod ? (id ?? undefined) : undefined;

/** In a batch, members without an id expect no answer; a batch without any id is answered once, with the id null. */
const ofBatch = (members: readonly Ids[]): Ids => {
  const ids = members.flat().filter((id) => id !== null);
  return ids.length === 0 ? [null] : ids;
};

const isId = (value: unknown): value is Id =>
  typeof value === "string" || (typeof value === "number" && Number.isFinite(value));

const envelopeOf = (value: object): Envelope => ({
  id: "id" in value && isId(value.id) ? value.id : null,
  hasMethod: "method" in value,
  hasResult: "result" in value || "error" in value,
});

/** To whom a parsed message or batch is addressed. */
export const addressedOf = (value: unknown): Addressed => {
  if (Array.isArray(value))
    return { ids: ofBatch(value.map((member) => addressedOf(member).ids)), question: undefined };
  const envelope = typeof value === "object" && value !== null ? envelopeOf(value) : emptyEnvelope();
  return { ids: idsFor(envelope), question: questionFor(envelope) };
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

const readMember = (envelope: Envelope, key: string, text: string, after: number): void => {
  if (key === "id") {
    const found = matchAt(ID_VALUE, text, after)?.[1];
    if (found !== undefined) envelope.id ??= parseId(found);
  } else if (matchAt(COLON, text, after) !== null) {
    if (key === "method") envelope.hasMethod = true;
    if (key === "result" || key === "error") envelope.hasResult = true;
  }
};

/** Of the outermost object; in a batch, of its members. */
const envelopesIn = (text: string, isBatch: boolean): readonly Envelope[] => {
  const level = isBatch ? 2 : 1;
  const members: Envelope[] = [];
  let envelope = emptyEnvelope();
  let depth = 0;
  try {
    for (let i = 0; i < text.length; i++) {
      const char = text[i];
      if (char === '"') {
        const end = endOfString(text, i);
        // The longest key of interest has six letters.
        if (depth === level && end - i <= 7) readMember(envelope, text.slice(i + 1, end), text, end + 1);
        i = end;
      } else if (char === "{" || char === "[") {
        depth++;
      } else if (char === "}" || char === "]") {
        if (depth === level && isBatch) {
          members.push(envelope);
          envelope = emptyEnvelope();
        }
        depth--;
      }
    }
  } catch {
    // A string is not closed: what was found before it counts.
  }
  return isBatch ? members : [envelope];
};

/**
 * To whom a text is addressed that is not parsed, because it is broken, cut off, or parsing it would take too much memory.
 * Only keys of the outermost object count (in a batch, those of its members).
 */
export const addressedIn = (text: string): Addressed => {
  const isBatch = /^\s*\[/.test(text);
  const envelopes = envelopesIn(text, isBatch);
  if (isBatch) return { ids: ofBatch(envelopes.map(idsFor)), question: undefined };
  const [envelope = emptyEnvelope()] = envelopes;
  return { ids: idsFor(envelope), question: questionFor(envelope) };
};
