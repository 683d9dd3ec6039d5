import { loadCedar } from "../host/os/bundled-files.ts";
import type { Compilation } from "../policy/cedar/engine.ts";
import type { PolicyAction } from "../policy/cedar/model.ts";
import type { Cedar, PolicyFile } from "../policy/cedar/policy-file.ts";
import type { PolicyProblem } from "../policy/cedar/positions.ts";

/** The texts of files, by name, that were in force last. */
type LastGood = ReadonlyMap<string, string>;

/** Loads Cedar, which servers without policy files never need. */
export const compileFiles = async (
  files: readonly PolicyFile[],
  actions: readonly PolicyAction[],
  defaultDeny: boolean,
): Promise<Compilation> => {
  const { compilePolicies } = await import("../policy/cedar/engine.ts");
  // The operator's files first: an id that stands twice is then the workspace's fault.
  const inOrder = files.toSorted((a, b) => Number(b.mayPermit) - Number(a.mayPermit));
  return compilePolicies(() => loadCedar() as Cedar, { actions, files: inOrder, defaultDeny });
};

/**
 * What stands in for untrusted files that cannot be used: what was last good of each, or nothing. So a workspace never holds
 * off what the operator writes.
 */
const withoutFlaws = (
  files: readonly PolicyFile[],
  problems: readonly PolicyProblem[],
  lastGood: LastGood,
): readonly PolicyFile[] =>
  files.flatMap((file) => {
    if (!problems.some((problem) => problem.file === file.name)) return file;
    const text = lastGood.get(file.name);
    return text === undefined || text === file.text ? [] : { ...file, text };
  });

/** The same for what cannot even be read. */
export const withLastGood = (
  files: readonly PolicyFile[],
  problems: readonly PolicyProblem[],
  lastGood: LastGood,
): readonly PolicyFile[] => {
  const unread = problems.filter(({ file }) => !files.some(({ name }) => name === file));
  return [
    ...withoutFlaws(files, problems, lastGood),
    ...unread.flatMap(({ file }) => {
      const text = lastGood.get(file);
      return text === undefined ? [] : { name: file, text, mayPermit: false };
    }),
  ];
};

interface Compiled {
  readonly result: Compilation;
  readonly problems: readonly PolicyProblem[];
}

/** Compiles again without the flaws of untrusted files, until there are none; an error of any other file ends it. */
export const compileUsable = async (
  files: readonly PolicyFile[],
  lastGood: LastGood,
  compile: (files: readonly PolicyFile[]) => Promise<Compilation>,
  found: readonly PolicyProblem[],
): Promise<Compiled> => {
  const result = await compile(files);
  if (result.ok) return { result, problems: found };
  const problems = [...found, ...result.problems];
  const isUntrusted = ({ file }: PolicyProblem): boolean =>
    files.some(({ name, mayPermit }) => name === file && !mayPermit);
  if (!result.problems.every(isUntrusted)) return { result, problems };
  return compileUsable(withoutFlaws(files, result.problems, lastGood), lastGood, compile, problems);
};

/** What is last good after these files were put in force. */
export const goodTexts = (
  files: readonly PolicyFile[],
  problems: readonly PolicyProblem[],
  lastGood: LastGood,
): LastGood => {
  const isWrong = (name: string): boolean => problems.some(({ file }) => file === name);
  return new Map([
    ...[...lastGood].filter(([name]) => isWrong(name)),
    ...files.flatMap(({ name, text }) => (isWrong(name) ? [] : [[name, text] as const])),
  ]);
};
