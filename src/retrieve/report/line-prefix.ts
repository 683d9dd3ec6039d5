/**
 * What tools put before a line that they pass on: quote marks, list marks, times, levels of logs, the name of a stream or a
 * container, the place in a source file. No alternative can match in two ways, so a line is read once.
 */
const PREFIX_PART = new RegExp(
  [
    String.raw`\s+`,
    ">(?!>)",
    // `E   ` of pytest
    String.raw`E(?=\s{2})`,
    String.raw`[|*+-](?=\s)`,
    String.raw`\[[^\]]{1,60}\]:?(?=\s)`,
    // `2026-01-31T12:00:00.123Z`, `12:00:00,123`, `Jan 31`
    String.raw`\d{1,4}[-/:.]\d[\dTZ:.,/+-]*(?=\s)`,
    String.raw`[A-Z][a-z]{2} {1,2}\d{1,2}(?=\s)`,
    String.raw`(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL|SEVERE)\b:?(?=\s)`,
    // `a/b.c:12:5: `, `a/b.ts(12,5): `
    String.raw`[^\s:()"]{1,200}\.\w{1,5}(?:(?::\d+){1,2}|\(\d+(?:,\d+)?\)):(?=\s)`,
    // `stderr: `, `web_1  | `, `app[12]: `
    String.raw`[A-Za-z_][\w.-]{0,40}(?:\[\d+\])?(?: {0,8}\||:)(?=\s)`,
    // the host before `app[12]: `
    String.raw`[\w.-]{1,60}(?= [\w.-]{1,40}\[\d+\]:\s)`,
  ].join("|"),
  "y",
);

/** A longer prefix is text. */
const MAX_PARTS = 16;

/** The line, and what is left of it after each part of its prefix: whoever knows a line tries all of them. */
export const withoutPrefixes = (line: string): readonly string[] => {
  const forms = [line];
  let from = 0;
  while (forms.length <= MAX_PARTS) {
    PREFIX_PART.lastIndex = from;
    const found = PREFIX_PART.exec(line);
    if (found === null) break;
    from += found[0].length;
    forms.push(line.slice(from));
  }
  return forms;
};
