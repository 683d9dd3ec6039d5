import { posix } from "node:path";

/** Something that is wrong with a policy file, or that its author should know. */
export interface PolicyProblem {
  readonly file: string;
  /** From 1; 0 where the whole file is meant. */
  readonly line: number;
  readonly column: number;
  readonly message: string;
}

const positionOf = (file: string, { line, column }: PolicyProblem): string =>
  `${file}${line === 0 ? "" : `:${line}:${column}`}`;

/** For the operator. */
export const describeProblem = (problem: PolicyProblem): string =>
  `${positionOf(problem.file, problem)}: ${problem.message}`;

/** The same with a word for what it is, such as "error". */
export const describeAs = (kind: string, problem: PolicyProblem): string =>
  describeProblem({ ...problem, message: `${kind}: ${problem.message}` });

/** A file or a policy for callers, who need not know the folders of the operator. */
export const publicName = (name: string): string => (posix.isAbsolute(name) ? posix.basename(name) : name);

/** The position alone: messages may name other files. */
export const positionForCallers = (problem: PolicyProblem): string =>
  positionOf(publicName(problem.file), problem);
