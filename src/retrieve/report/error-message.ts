import { withoutPrefixes } from "./line-prefix.ts";

/** What an error or warning says, without its type, and what stands before it in the line. */
export interface ErrorMessage {
  readonly lead: string;
  readonly message: string;
}

export interface LineContext {
  /** Below the frames of a trace, any name in camel case is a type of errors. */
  readonly isInTrace: boolean;
  /** In prose a type may follow any word: `it raises ValueError: no rows`. In code, `except ValueError: pass` may not. */
  readonly isProse: boolean;
}

/** `ValueError: message`, `astropy.wcs.NoConvergenceError: message`, `App\StoreException: message` */
const TYPED =
  /(?<![\w$.\\:])(?:[\w$]+(?:\.|::|\\))*[A-Z]\w*(?:Error|Exception|Warning|Failure|Fault|Interrupt|Exit)\b[*`]*: +(?<message>\S.*)$/;
/** What may stand before a type outside of prose: `Unhandled exception. `, `Caused by: `, `Uncaught `. */
const LEAD_END = /(?:[:.)"\]|>-]\s*|\bUncaught )$/;

/** `panic: message`, `fatal error: message`, `error[E0308]: message`, `error TS2345: message` */
const KIND =
  /^(?:PHP )?(?:[Ff]atal |internal )?(?:[Ee]rror|ERROR|panic)(?:\[\w+\]| [A-Z]+\d+)?[*`]*: +(?<message>\S.*)$/;
/** Behind the place in a source file, compilers warn as well. */
const LOCATED = /^[^\s:()"]+\.\w{1,5}[:(]\d+(?:[:,]\d+)?\)?: warning\b[^:]{0,20}: +(?<message>\S.*)$/;
/** What follows these is a type, whatever its name is. */
const UNCAUGHT =
  /^(?:Uncaught|Unhandled exception[.:]|Caused by:|Exception in thread "[^"]*") +[\w.$\\:]{3,120}: +(?<message>\S.*)$/i;
/** Ruby: `a.rb:12:in 'open': message (IOError)` */
const RUBY = /:in [`'"][^`'"]*['"`]: (?<message>\S.*) \([A-Z][\w:]*\)$/;
/** Rust, before and since 1.73; a tab stands for the end of the line. */
const PANIC = /^thread '.*panicked at (?:'(?<before>.+)', [^\s']+:\d+|[^\s']+:\d+:\d+:\t(?<message>.+)$)/;

const NAMED_LAST = /^(?<type>[\w.$]{3,120}): +(?<message>\S.*)$/;
const CAMEL_CASE = /[a-z][A-Z]/;

const typed = (line: string, isProse: boolean): ErrorMessage | undefined => {
  const found = TYPED.exec(line);
  if (found === null) return undefined;
  const lead = line.slice(0, found.index);
  const isOnlyPrefixes = withoutPrefixes(`${lead}.`).includes(".");
  if (!isOnlyPrefixes && !LEAD_END.test(lead) && !(isProse && !/\bexcept $/.test(lead))) return undefined;
  return { lead: isOnlyPrefixes ? "" : lead, message: found.groups?.["message"] ?? "" };
};

/** What a line says, where it is that of an error or warning. */
export const messageOf = (line: string, { isInTrace, isProse }: LineContext): ErrorMessage | undefined => {
  const found = typed(line, isProse);
  if (found !== undefined) return found;
  for (const text of withoutPrefixes(line)) {
    const panic = PANIC.exec(text)?.groups;
    const message =
      panic?.["message"] ??
      panic?.["before"] ??
      [LOCATED, KIND, UNCAUGHT, RUBY].map((shape) => shape.exec(text)?.groups?.["message"]).find(Boolean);
    if (message === undefined) continue;
    // `Fatal error: Uncaught App\NotFound: message`
    return { lead: "", message: UNCAUGHT.exec(message)?.groups?.["message"] ?? message };
  }
  if (!isInTrace) return undefined;
  const last = withoutPrefixes(line)
    .map((text) => NAMED_LAST.exec(text)?.groups)
    .find((found) => CAMEL_CASE.test(found?.["type"] ?? ""));
  return last === undefined ? undefined : { lead: "", message: last["message"] ?? "" };
};
