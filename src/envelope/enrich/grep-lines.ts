/** One line of a search: a hit, or one of its neighbours. */
export interface Hit {
  /** Empty where the output names no files. */
  readonly path: string;
  /** Empty where the output numbers no lines. */
  readonly number: string;
  readonly text: string;
  readonly isMatch: boolean;
}

export interface GrepForm {
  readonly hasName: boolean;
  readonly hasNumber: boolean;
  readonly hasContext: boolean;
}

const NUMBERED = /^(\d{1,12})([:-])/;
const NUMBER_INSIDE = /[:\0](\d{1,12}):/;

/** A hit as it stands: `path:12:text`, with the parts that the form has. */
const readMatch = (line: string, { hasName, hasNumber }: GrepForm): Hit | undefined => {
  const nul = line.indexOf("\0");
  if (!hasName) {
    const found = hasNumber ? NUMBERED.exec(line) : undefined;
    if (hasNumber && found?.[2] !== ":") return undefined;
    const number = found?.[1] ?? "";
    return { path: "", number, text: hasNumber ? line.slice(number.length + 1) : line, isMatch: true };
  }
  if (hasNumber) {
    const found = NUMBER_INSIDE.exec(line);
    if (found === null || found.index === 0) return undefined;
    const [whole, number = ""] = found;
    return {
      path: line.slice(0, found.index),
      number,
      text: line.slice(found.index + whole.length),
      isMatch: true,
    };
  }
  const end = nul > 0 ? nul : line.indexOf(":");
  return end <= 0
    ? undefined
    : { path: line.slice(0, end), number: "", text: line.slice(end + 1), isMatch: true };
};

/** A line of a block whose file is known, hit or neighbour. */
const readBeside = (line: string, path: string, { hasNumber }: GrepForm): Hit | undefined => {
  const mark = line[path.length];
  if (path !== "" && (!line.startsWith(path) || (mark !== ":" && mark !== "-" && mark !== "\0")))
    return undefined;
  const rest = path === "" ? line : line.slice(path.length + 1);
  if (!hasNumber) return { path, number: "", text: rest, isMatch: mark === ":" };
  const found = NUMBERED.exec(rest);
  if (found === null) return undefined;
  const [, number = "", sign] = found;
  return { path, number, text: rest.slice(number.length + 1), isMatch: sign === ":" };
};

/** Neighbours have dashes where hits have colons, so a block is read by the file name of one of its hits. */
const readBlock = (block: readonly string[], form: GrepForm): Hit[] | undefined => {
  for (const line of block) {
    const path = form.hasName ? readMatch(line, form)?.path : "";
    if (path === undefined) continue;
    const hits = block.map((each) => readBeside(each, path, form));
    if (hits.every((hit) => hit !== undefined)) return hits;
    // The first hit names the file; trying each line would take quadratic time.
    if (form.hasName) return undefined;
  }
  return undefined;
};

/** Lines in another form (`Binary file x matches`) are collected separately. */
export interface GrepLines {
  readonly hits: readonly Hit[];
  readonly others: readonly string[];
}

const readBlocks = (lines: readonly string[], form: GrepForm): GrepLines | undefined => {
  const hits: Hit[] = [];
  let block: string[] = [];
  for (const line of [...lines, "--"]) {
    if (line !== "--") {
      block.push(line);
      continue;
    }
    const read = block.length === 0 ? [] : readBlock(block, form);
    if (read === undefined) return undefined;
    for (const hit of read) hits.push(hit);
    block = [];
  }
  return { hits, others: [] };
};

/** Undefined where the output does not have the form. */
export const readGrepLines = (lines: readonly string[], form: GrepForm): GrepLines | undefined => {
  if (form.hasContext) return readBlocks(lines, form);
  const hits: Hit[] = [];
  const others: string[] = [];
  for (const line of lines) {
    const hit = readMatch(line, form);
    if (hit === undefined) others.push(line);
    else hits.push(hit);
  }
  return others.length > hits.length ? undefined : { hits, others };
};

/** `rg --heading`: the file's name on a line of its own, its hits below, then an empty line. */
export const readHeadings = (lines: readonly string[], hasNumber: boolean): GrepLines | undefined => {
  const hits: Hit[] = [];
  let path = "";
  for (const line of lines) {
    if (line === "") path = "";
    else if (path === "") path = line;
    else if (line !== "--") {
      const hit = hasNumber
        ? readBeside(line, "", { hasName: false, hasNumber, hasContext: true })
        : undefined;
      if (hasNumber && hit === undefined) return undefined;
      hits.push({ ...(hit ?? { number: "", text: line, isMatch: true }), path });
    }
  }
  return { hits, others: [] };
};

interface JsonEvent {
  readonly type?: string;
  readonly data?: {
    readonly path?: { readonly text?: string };
    readonly lines?: { readonly text?: string };
    readonly line_number?: number | null;
  };
}

/** `rg --json`: one event on each line. */
export const readJsonEvents = (lines: readonly string[]): GrepLines | undefined => {
  const hits: Hit[] = [];
  for (const line of lines) {
    const { type, data } = JSON.parse(line) as JsonEvent;
    if (type !== "match" && type !== "context") continue;
    hits.push({
      path: data?.path?.text ?? "?",
      number: String(data?.line_number ?? ""),
      text: (data?.lines?.text ?? "[no text]").replace(/\n$/, ""),
      isMatch: type === "match",
    });
  }
  return { hits, others: [] };
};
