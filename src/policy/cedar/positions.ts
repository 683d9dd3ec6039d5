import { ellipsize } from "../../base/text.ts";

/** Something that is wrong with a policy file, or that its author should know. */
export interface PolicyProblem {
  readonly file: string;
  /** From 1; 0 where the whole file is meant. */
  readonly line: number;
  readonly column: number;
  readonly message: string;
}

const PLAIN = /^[\p{L}\p{M}\p{N}_.:/@#+~=,%-]+$/u;
/** Controls, signs that cannot be seen or turn the direction of a text, and blanks other than a space. */
const UNSEEN = /(?! )[\p{C}\p{Z}]/gu;

const escapeUnseen = (sign: string): string => `\\u{${sign.codePointAt(0)?.toString(16)}}`;

/** The name of a file as messages show it: a repository chose it, so that it may be any text. Different names stay different. */
export const showFile = (name: string): string =>
  PLAIN.test(name) ? name : JSON.stringify(name).replace(UNSEEN, escapeUnseen);

interface Position {
  readonly file: string;
  readonly line: number;
  readonly column?: number;
}

export const positionOf = ({ file, line, column }: Position): string =>
  [showFile(file), ...(line === 0 ? [] : [line, ...(column === undefined ? [] : [column])])].join(":");

/** Of a policy without an id, which is known by this. */
export const positionOfPolicy = (file: string, number: number): string => `${showFile(file)}#${number}`;

/** For the operator. */
export const describeProblem = (problem: PolicyProblem): string =>
  `${positionOf(problem)}: ${problem.message}`;

/** The same with a word for what it is, such as "error". */
export const describeAs = (kind: string, problem: PolicyProblem): string =>
  describeProblem({ ...problem, message: `${kind}: ${problem.message}` });

const MAX_PUBLIC_CHARS = 120;

/** A position or an id for callers, who need not know the folders of the operator. */
export const publicName = (name: string): string =>
  ellipsize(name.replace(/^("?)\/(?:.*\/)?/, "$1"), MAX_PUBLIC_CHARS);

/** The position alone: messages may name other files. */
export const positionForCallers = (problem: PolicyProblem): string => publicName(positionOf(problem));
