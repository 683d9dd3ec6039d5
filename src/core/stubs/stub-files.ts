import { LlmcError } from "../../base/error.ts";
import { pythonGlobals, pythonStub } from "./python-stub.ts";
import { STUBS } from "./stub-path.ts";
import { byFamily, type StubTool } from "./stub-tool.ts";
import { TYPESCRIPT_GLOBALS, typescriptSignature, typescriptStub } from "./typescript-stub.ts";

export interface StubFiles {
  /** Texts by path below the folder of stubs. */
  readonly files: ReadonlyMap<string, string>;
  readonly tools: readonly StubTool[];
}

/** The shortest form that still says how a tool is called. */
const callOf = ({ name, input }: StubTool): string => {
  const args = input.map((field) => `${field.name}${field.isRequired ? "" : "?"}`).join(", ");
  return `${name}({${args}})`;
};

const indexOf = (families: ReadonlyMap<string, readonly StubTool[]>): string => {
  const parts = [...families].map(
    ([family, tools]) =>
      `## ${family} (typescript/${family}.d.ts, python/${family}.pyi)\n${tools
        .map((tool) => `- ${callOf(tool)}: ${tool.description.replace(/\s+/g, " ")}\n`)
        .join("")}`,
  );
  return `# Tools that programs can call
In execute_code: \`await tools.NAME({...})\`, in Python \`await tools.NAME(key=...)\`; both return the structured result:
data and meta, but linux_*, kb_* and admin_* return their fields (hits …) without data.
A failure throws ToolError {code, message, retryable}. What else a program has: typescript/globals.d.ts, python/globals.pyi.

${parts.join("\n")}`;
};

export const createStubFiles = (tools: readonly StubTool[]): StubFiles => {
  const families = byFamily(tools);
  const files = new Map<string, string>([
    ["index.md", indexOf(families)],
    ["typescript/globals.d.ts", TYPESCRIPT_GLOBALS],
    ["python/globals.pyi", pythonGlobals([...families.keys()])],
  ]);
  for (const [family, members] of families) {
    files.set(`typescript/${family}.d.ts`, typescriptStub(members));
    files.set(`python/${family}.pyi`, pythonStub(family, members));
  }
  return { files, tools };
};

const missing = (): LlmcError =>
  new LlmcError("file_not_found", "There is no such stub.", {
    hint: `${STUBS}/index.md lists all tools and their stubs.`,
  });

export const readStub = ({ files }: StubFiles, path: string): string => {
  const text = files.get(path);
  if (text === undefined) throw missing();
  return text;
};

export interface StubEntry {
  readonly name: string;
  readonly type: "dir" | "file";
}

export const listStubs = ({ files }: StubFiles, path: string): readonly StubEntry[] => {
  const prefix = path === "" ? "" : `${path}/`;
  const below = [...files.keys()]
    .filter((file) => file.startsWith(prefix))
    .map((file) => file.slice(prefix.length));
  if (below.length === 0) throw missing();
  const names = new Map<string, StubEntry>();
  for (const file of below) {
    const [name = "", ...rest] = file.split("/");
    names.set(name, { name, type: rest.length === 0 ? "file" : "dir" });
  }
  return [...names.values()].sort((one, other) => (one.name < other.name ? -1 : 1));
};

export interface FoundTool {
  readonly name: string;
  readonly description: string;
  /** Its declaration in TypeScript. */
  readonly stub: string;
}

const termsOf = (text: string): readonly string[] =>
  text
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((term) => term.length > 1);

/** Whether two terms are forms of one another: `edits` and `edit`, `searching` and `search`. */
const isForm = (term: string, other: string): boolean => {
  const [short, long] = term.length < other.length ? [term, other] : [other, term];
  return short === long || (short.length > 3 && long.startsWith(short));
};

const WEIGHTS = { name: 3, description: 1, field: 0.5 } as const;

/** The tools that the words of a query name, best first. */
export const searchStubs = ({ tools }: StubFiles, query: string, limit: number): readonly FoundTool[] => {
  const terms = [...new Set(termsOf(query))];
  const scored = tools.map((tool) => {
    const fields = tool.input.map(({ name, description }) => `${name} ${description}`).join(" ");
    const parts = [
      [WEIGHTS.name, termsOf(tool.name)],
      [WEIGHTS.description, termsOf(tool.description)],
      [WEIGHTS.field, termsOf(fields)],
    ] as const;
    const score = terms.reduce(
      (sum, term) =>
        sum +
        parts.reduce((own, [weight, of]) => own + (of.some((other) => isForm(term, other)) ? weight : 0), 0),
      0,
    );
    return { tool, score };
  });
  return scored
    .filter(({ score }) => score > 0)
    .sort((one, other) => other.score - one.score)
    .slice(0, limit)
    .map(({ tool }) => ({
      name: tool.name,
      description: tool.description,
      stub: typescriptSignature(tool).replace(/^ {2}/gm, ""),
    }));
};
