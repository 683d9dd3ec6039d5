import { type Entry, TABLES, type Table } from "./sections.ts";
import { tomlLines } from "./toml-text.ts";

const preface = (which: string): readonly string[] => [
  `# Configuration of llmc. ${which}: take away the # in front of one to change it.`,
  "# A flag wins over an environment variable, which wins over this file, which wins over your own",
  "# config.toml. What this file allows beyond that needs `llmc trust`. `llmc config` shows what is in force.",
];

/** A line that starts with `#` and no single space is a key, or part of its value. */
const templateEntry = (entry: Entry): string[] => {
  const { key, name, option } = entry;
  const value = tomlLines(option.default);
  const leftOut = value === undefined ? " Left out by default." : "";
  const [head, ...rest] = value ?? ["[]"];
  const mark = key === "mcp.mode" ? "" : "#";
  return [
    `# ${option.description}${leftOut}`,
    `${mark}${name} = ${head}`,
    ...rest.map((line) => `${mark}${line}`),
  ];
};

const templateOf = (which: string, tables: readonly Table[]): string =>
  [
    ...preface(which),
    ...tables.flatMap(({ path, description, entries }) => [
      "",
      `# ${description}`,
      `[${path}]`,
      ...entries.flatMap(templateEntry),
    ]),
    "",
  ].join("\n");

/** Keys that decide what an agent may see and do; the others are for operators. */
const USUAL: readonly string[] =
  `mcp.mode mcp.hybrid.promoted_tools mcp.tools.allowed_roots mcp.tools.run_cmd_allowlist
    mcp.tools.exec_timeout mcp.tools.allow_outbound_network mcp.tools.custom_modules`.split(/\s+/);

/** The file that `llmc init --all` writes. Table headers are active, so that a key only needs its own # taken away. */
export const fullTemplate = (): string => templateOf("Every key stands here at its default", TABLES);

/** The file that `llmc init` writes: the usual keys. */
export const shortTemplate = (): string =>
  templateOf(
    "The usual keys stand here at their defaults (`llmc init --all --print` shows every key)",
    TABLES.map((table) => ({
      ...table,
      entries: table.entries.filter(({ key }) => USUAL.includes(key)),
    })).filter(({ entries }) => entries.length > 0),
  );
