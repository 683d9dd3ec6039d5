import { plural } from "../../base/text.ts";
import { countFitting } from "./budget.ts";
import type { EnrichLimits } from "./contract.ts";
import { summarizePaths } from "./path-list.ts";

const SECTIONS: readonly (readonly [start: string, name: string])[] = [
  ["Changes to be committed:", "staged"],
  ["Changes not staged for commit:", "not staged"],
  ["Unmerged paths:", "unmerged"],
  ["Untracked files:", "untracked"],
  ["Ignored files:", "ignored"],
];

/** `modified:` as the letter that the short form has for it. */
const LETTERS: readonly (readonly [word: string, letter: string])[] = [
  ["modified:", "M"],
  ["new file:", "A"],
  ["deleted:", "D"],
  ["renamed:", "R"],
  ["copied:", "C"],
  ["typechange:", "T"],
  ["both modified:", "UU"],
  ["both added:", "AA"],
  ["both deleted:", "DD"],
];

const shortEntry = (line: string): string => {
  const found = LETTERS.find(([word]) => line.startsWith(word));
  return found === undefined ? line : `${found[1]} ${line.slice(found[0].length).trim()}`;
};

interface Section {
  readonly name: string;
  readonly entries: string[];
}

export interface StatusSummary {
  readonly text: string;
  readonly count: number;
  readonly truncated: boolean;
}

const renderSection = ({ name, entries }: Section, room: number, limits: EnrichLimits): [string, boolean] => {
  const shown = countFitting(entries, room);
  if (shown === entries.length) return [[`${name}:`, ...entries].join("\n"), false];
  const paths = entries.map((entry) => entry.replace(/^[A-Z?!]{1,2} +/, ""));
  const summary = summarizePaths(
    paths,
    { ...limits, maxTokens: Math.floor(room) },
    plural(paths.length, "file"),
  );
  return [`${name}: ${summary.text}`, true];
};

const renderSections = (
  head: readonly string[],
  sections: readonly Section[],
  limits: EnrichLimits,
): StatusSummary => {
  const count = sections.reduce((sum, { entries }) => sum + entries.length, 0);
  const room = (limits.maxTokens - 60) / Math.max(1, sections.length);
  const summary = sections.map((section) => renderSection(section, room, limits));
  return {
    text: [...head, ...summary.map(([text]) => text)].join("\n"),
    count,
    truncated: summary.some(([, isCut]) => isCut),
  };
};

/** The long form, without its advice. Undefined where it is not that. */
export const summarizeStatus = (
  lines: readonly string[],
  limits: EnrichLimits,
): StatusSummary | undefined => {
  if (!/^(?:On branch |HEAD detached |Not currently on any branch|interactive rebase )/.test(lines[0] ?? ""))
    return undefined;
  const head: string[] = [];
  const sections: Section[] = [];
  for (const line of lines) {
    const start = SECTIONS.find(([text]) => line === text);
    if (start !== undefined) sections.push({ name: start[1], entries: [] });
    else if (line.startsWith("\t") && sections.length > 0)
      sections.at(-1)?.entries.push(shortEntry(line.slice(1)));
    else if (line.trim() !== "" && !/^ *\(.*\)$/.test(line)) head.push(line);
  }
  // Only advice about what the sections already show.
  const shownHead = head.filter(
    (line) => !/^(?:no changes added to commit|nothing added to commit)/.test(line),
  );
  return renderSections(shownHead, sections, limits);
};

/** `--short` and `--porcelain`: the same letters once, then their files. */
export const summarizeShortStatus = (
  lines: readonly string[],
  limits: EnrichLimits,
): StatusSummary | undefined => {
  const head: string[] = [];
  const groups = new Map<string, Section>();
  for (const line of lines) {
    const code = line.slice(0, 2);
    if (line.startsWith("##")) head.push(line);
    else if (/^[ MTADRCUm?!]{2}$/.test(code) && line[2] === " ") {
      const section = groups.get(code) ?? { name: code, entries: [] };
      section.entries.push(line.slice(3));
      groups.set(code, section);
    } else return undefined;
  }
  return renderSections(head, [...groups.values()], limits);
};
