import type { Retrieval } from "./engine.ts";
import type { IndexStats } from "./index/index-status.ts";
import type { Scope } from "./rank/search-request.ts";

export interface BootloadRequest {
  readonly sessionId: string;
  /** An id, or a description of the task, which is then searched for. */
  readonly taskId: string;
}

/** What an agent should know before its first step. */
export interface BootPlan {
  readonly plan: string;
  readonly scope: Scope;
  readonly notes: string;
}

interface BootParts {
  readonly engine: Retrieval;
  readonly readText: (path: string, signal?: AbortSignal) => Promise<string | undefined>;
  readonly countTokens: (text: string) => number;
  readonly budgetTokens: number;
}

/** Files in which a repository says how to work in it; the first of each row that exists is used. */
const GUIDES: readonly (readonly string[])[] = [
  ["AGENTS.md", "CLAUDE.md", ".github/copilot-instructions.md"],
  ["CONTRACTS.md", "docs/CONTRACTS.md", "DOCS/contracts.env.min.md"],
];

/** Share of the budget for the notes; the plan gets the rest. */
const NOTES_SHARE = 0.7;
const STARTING_POINTS = 3;

interface Guide {
  readonly path: string;
  readonly text: string;
}

const findGuides = async (parts: BootParts, signal: AbortSignal | undefined): Promise<readonly Guide[]> => {
  const guides: Guide[] = [];
  for (const names of GUIDES) {
    for (const path of names) {
      const text = await parts.readText(path, signal);
      if (text === undefined || text.trim() === "") continue;
      guides.push({ path, text });
      break;
    }
  }
  return guides;
};

/** The rules in a guide: its text without code, tables and images. */
const rulesOf = (text: string): readonly string[] => {
  const rules: string[] = [];
  let isCode = false;
  for (const line of text.split(/\r?\n/)) {
    if (/^\s*(```|~~~)/.test(line)) isCode = !isCode;
    else if (!isCode && line.trim() !== "" && !/^\s*(\||!\[|<)/.test(line)) rules.push(line.trimEnd());
  }
  return rules;
};

const takeLines = (
  lines: readonly string[],
  budgetTokens: number,
  countTokens: (text: string) => number,
): { readonly text: string; readonly isAll: boolean } => {
  let fits = 0;
  let tooMany = lines.length + 1;
  while (tooMany - fits > 1) {
    const middle = (fits + tooMany) >> 1;
    if (countTokens(lines.slice(0, middle).join("\n")) <= budgetTokens) fits = middle;
    else tooMany = middle;
  }
  return { text: lines.slice(0, fits).join("\n"), isAll: fits === lines.length };
};

const notesOf = (guides: readonly Guide[], budgetTokens: number, parts: BootParts): string => {
  if (guides.length === 0) return "No AGENTS.md or CONTRACTS.md here.";
  const each = Math.floor(budgetTokens / guides.length);
  return guides
    .map(({ path, text }) => {
      const frame = parts.countTokens(`${path}:\n\n[more in ${path}]\n`);
      const { text: kept, isAll } = takeLines(rulesOf(text), Math.max(0, each - frame), parts.countTokens);
      return `${path}:\n${kept}${isAll ? "" : `\n[more in ${path}]`}`;
    })
    .join("\n");
};

const PROSE = new Set(["markdown", "rst", "html", "text", "asciidoc"]);

/** Mostly documents, mostly code, or both. */
const scopeOf = ({ languages, chunks }: IndexStats): Scope => {
  const prose = languages
    .filter(({ language }) => PROSE.has(language))
    .reduce((sum, { chunks: count }) => sum + count, 0);
  if (chunks === 0) return "both";
  const share = prose / chunks;
  return share > 0.8 ? "docs" : share < 0.2 ? "repo" : "both";
};

const isDescription = (taskId: string): boolean => /\p{L}{3,}\P{L}+\p{L}{3,}/u.test(taskId);

const describeIndex = ({ index, files, languages }: IndexStats): string => {
  const main = languages
    .slice(0, 3)
    .map(({ language }) => language)
    .join(", ");
  const state = index.state === "ready" ? "" : " (index still being built)";
  return files === 0
    ? "Nothing is indexed yet."
    : `${files} files indexed${main === "" ? "" : `: mostly ${main}`}${state}.`;
};

/** Plan, scope and notes for the start of a task, within the token budget. No tool is named: modes list different ones. */
export const writeBootPlan = async (
  { taskId }: BootloadRequest,
  parts: BootParts,
  signal?: AbortSignal,
): Promise<BootPlan> => {
  const [guides, stats] = await Promise.all([findGuides(parts, signal), parts.engine.stats(signal)]);
  const scope = scopeOf(stats);
  const starts = isDescription(taskId)
    ? (
        await parts.engine.search(
          { query: taskId, scope: "both", k: STARTING_POINTS, budgetTokens: 100_000 },
          signal,
        )
      ).value
    : [];
  const notes = notesOf(guides, Math.floor(parts.budgetTokens * NOTES_SHARE), parts);
  const steps = [
    describeIndex(stats),
    ...(guides.length === 0 ? [] : [`Keep to the rules of ${guides.map(({ path }) => path).join(" and ")}.`]),
    ...(starts.length === 0
      ? ["Search before reading whole files."]
      : [
          "Start at:",
          ...starts.map(
            ({ path, startLine, endLine, name }) =>
              `- ${path}#L${startLine}-L${endLine}${name === "" ? "" : ` ${name}`}`,
          ),
        ]),
    "Check where a definition is used before changing it.",
  ];
  const left = Math.max(0, parts.budgetTokens - parts.countTokens(notes));
  return { plan: takeLines(steps, left, parts.countTokens).text, scope, notes };
};
