const WIDTH = 100;

/** JSON's escapes are TOML's too; the rest keeps control characters away from the reader's terminal. */
const tomlString = (text: string): string =>
  JSON.stringify(text.toWellFormed()).replace(
    /[\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g,
    (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );

/** Lists that do not fit on a line are wrapped, two spaces in. */
const tomlList = (items: readonly unknown[]): string[] => {
  const texts = items.map((item) => tomlString(String(item)));
  const oneLine = `[${texts.join(", ")}]`;
  if (oneLine.length <= WIDTH) return [oneLine];
  const lines = ["["];
  let line = "";
  for (const text of texts) {
    if (line !== "" && line.length + text.length + 4 > WIDTH) {
      lines.push(`  ${line}`);
      line = "";
    }
    line += line === "" ? `${text},` : ` ${text},`;
  }
  return [...lines, `  ${line}`, "]"];
};

/** A value as the lines of a TOML file; undefined for null, which TOML cannot express. */
export const tomlLines = (value: unknown): readonly string[] | undefined => {
  if (value === null) return undefined;
  if (Array.isArray(value)) return tomlList(value);
  return [typeof value === "string" ? tomlString(value) : String(value)];
};

/** The same on one line, for running text. */
export const tomlInline = (value: unknown): string => {
  if (value === null) return "left out";
  if (Array.isArray(value)) return `[${value.map((item) => tomlString(String(item))).join(", ")}]`;
  return typeof value === "string" ? tomlString(value) : String(value);
};
