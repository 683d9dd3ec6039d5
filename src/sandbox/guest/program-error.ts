import type { ProgramError } from "./messages.ts";

/** As the prelude describes it. */
export interface Described extends Omit<ProgramError, "column"> {
  readonly stack: string;
}

/** In place of an error that fails itself when it is asked what it says. */
export const UNSHOWN_MESSAGE = "an error that cannot be shown";
export const UNSHOWN: ProgramError = { name: "InternalError", message: UNSHOWN_MESSAGE };

type Position = Required<Pick<ProgramError, "line" | "column">>;

const POSITION = /\bprogram:(\d+):(\d+)/;
const MAX_MESSAGE_CHARS = 4000;

const escaped = (text: string): string => text.replace(/[^\w]/g, "\\$&");

/**
 * Errors that interpreters throw without a position, and where the program says what they are about. A name that is built
 * at run time is not found; then it is the first place that can have thrown.
 */
const NAMED: readonly (readonly [message: RegExp, ...patterns: ((name: string) => RegExp)[]])[] = [
  [
    /^(?:could not load module|Cannot find (?:module|package)|No such built-in module:) ?'?([^\s']+)/,
    (name) => new RegExp(`\\bimport\\s*\\(\\s*(["'\`])${escaped(name)}\\1`),
    () => /\bimport\s*\(/,
  ],
  [
    /^redeclaration of '([^']+)'/,
    (name) =>
      new RegExp(`\\b(?:const|let|var|class|function)\\b[^=;]*?(?<![\\w$])${escaped(name)}(?![\\w$])`),
  ],
];

const findNamed = (text: string, code: string): Position | undefined => {
  for (const [message, ...patterns] of NAMED) {
    const name = message.exec(text)?.[1];
    if (name === undefined) continue;
    for (const pattern of patterns) {
      const index = code.search(pattern(name));
      if (index < 0) continue;
      const before = code.slice(0, index).split("\n");
      return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
    }
  }
  return undefined;
};

const positionOf = ({ stack, message, line }: Described, code: string): Partial<Position> => {
  const [, atLine, atColumn] = POSITION.exec(stack) ?? [];
  if (atLine !== undefined) return { line: Number(atLine), column: Number(atColumn) };
  return findNamed(message, code) ?? (line === undefined ? {} : { line });
};

/** The error as the model is told, with its position in the program as it was written. */
export const toProgramError = (described: Described, code: string): ProgramError => {
  const { name, message, code: failure, retryable } = described;
  return {
    name: name.slice(0, 100),
    message: message.slice(0, MAX_MESSAGE_CHARS),
    ...positionOf(described, code),
    ...(failure === undefined ? {} : { code: failure }),
    ...(retryable === undefined ? {} : { retryable }),
  };
};
