import { type Entry, SHOWN_TABLES } from "./sections.ts";
import { tomlLines } from "./toml-text.ts";

const PREFACE = [
  "# Configuration of llmc. Every key stands here at its default: take away the # in front of one to change it.",
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
  return [`# ${option.says}${leftOut}`, `${mark}${name} = ${head}`, ...rest.map((line) => `${mark}${line}`)];
};

/** The file that `llmc init` writes. Table headers are active, so that a key only needs its own # taken away. */
export const configTemplate = (): string =>
  [
    ...PREFACE,
    ...SHOWN_TABLES.flatMap(({ path, says, entries }) => [
      "",
      `# ${says}`,
      `[${path}]`,
      ...entries.flatMap(templateEntry),
    ]),
    "",
  ].join("\n");
