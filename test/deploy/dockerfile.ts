/** One instruction, its continuation lines joined and its build arguments filled in. */
export interface Instruction {
  readonly name: string;
  readonly text: string;
  readonly line: number;
}

export interface Stage {
  readonly image: string;
  readonly name: string | undefined;
  readonly instructions: readonly Instruction[];
}

export interface Copy {
  /** Name of the stage that the sources are in; undefined: the build context. */
  readonly from: string | undefined;
  readonly sources: readonly string[];
  readonly target: string;
}

const joinLines = (text: string): Instruction[] => {
  const found: Instruction[] = [];
  let open = "";
  let line = 0;
  for (const [index, raw] of text.split("\n").entries()) {
    if (/^\s*#/.test(raw) || (raw.trim() === "" && open === "")) continue;
    if (open === "") line = index + 1;
    open += raw.replace(/\\$/, "");
    if (raw.endsWith("\\")) continue;
    const [, name = "", rest = ""] = /^\s*(\w+)\s+([\s\S]*)$/.exec(open) ?? [];
    if (name === "") throw new Error(`Dockerfile:${line}: not an instruction: ${open}`);
    found.push({ name: name.toUpperCase(), text: rest.trim(), line });
    open = "";
  }
  return found;
};

/** `${NAME}` of an ARG or ENV that stands above; a name that nobody has set is an error. */
const fill = (text: string, known: ReadonlyMap<string, string>, line: number): string =>
  text.replace(/\$\{(\w+)\}/g, (_, name: string) => {
    const value = known.get(name);
    if (value === undefined) throw new Error(`Dockerfile:${line}: ${name} is not set above`);
    return value;
  });

/** The pairs of an ENV or LABEL line. */
export const pairsOf = (text: string): ReadonlyMap<string, string> =>
  new Map([...text.matchAll(/([\w.]+)=(?:"([^"]*)"|(\S*))/g)].map(([, k = "", q, v]) => [k, q ?? v ?? ""]));

const learn = ({ name, text }: Instruction, known: Map<string, string>, outer: Map<string, string>): void => {
  if (name === "ENV") for (const [key, value] of pairsOf(text)) known.set(key, value);
  if (name !== "ARG") return;
  const [key = "", value] = text.split("=", 2);
  const inherited = value ?? outer.get(key);
  if (inherited !== undefined) known.set(key, inherited);
};

/** As much of the format as our Dockerfile uses; anything else throws. */
export const parseDockerfile = (text: string): readonly Stage[] => {
  /** Arguments above the first FROM: only FROM sees them, and an ARG of the same name. */
  const outer = new Map<string, string>();
  let known = outer;
  const stages: { image: string; name: string | undefined; instructions: Instruction[] }[] = [];
  for (const raw of joinLines(text)) {
    if (raw.name === "FROM") {
      const [, image, name] = /^(\S+)(?:\s+AS\s+(\S+))?$/i.exec(fill(raw.text, outer, raw.line)) ?? [];
      if (image === undefined) throw new Error(`Dockerfile:${raw.line}: FROM what?`);
      stages.push({ image, name, instructions: [] });
      known = new Map();
      continue;
    }
    const one = { ...raw, text: fill(raw.text, known, raw.line) };
    learn(one, known, outer);
    stages.at(-1)?.instructions.push(one);
  }
  return stages;
};

export const copyOf = ({ text }: Instruction): Copy => {
  const tokens = text.split(/\s+/);
  const flags = tokens.filter((word) => word.startsWith("--"));
  const paths = tokens.filter((word) => !word.startsWith("--"));
  const target = paths.at(-1) ?? "";
  return {
    from: flags.find((flag) => flag.startsWith("--from="))?.slice("--from=".length),
    sources: paths.slice(0, -1),
    target,
  };
};

/** The words of an instruction in exec form: the last JSON array of the line. */
export const execOf = ({ text, line }: Instruction): readonly string[] => {
  const array = /\[.*\]$/.exec(text)?.[0];
  if (array === undefined) throw new Error(`Dockerfile:${line}: not in exec form`);
  return JSON.parse(array) as string[];
};
