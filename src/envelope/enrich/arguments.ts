/** A program's options as they were written, and what is left. */
export interface Arguments {
  /** Letters of short options and whole long ones, without dashes and values: `n`, `line-number`. */
  readonly options: ReadonlySet<string>;
  readonly operands: readonly string[];
}

/**
 * Parses arguments well enough to know which form the output has. A wrong guess costs tokens, never a fact: output that
 * does not have the expected form passes through.
 *
 * @param values Letters, and long names, that take the next argument as their value.
 */
export const parseArguments = (args: readonly string[], values: string): Arguments => {
  const [letters = "", ...longs] = values.split(" ");
  const options = new Set<string>();
  const operands: string[] = [];
  for (let i = 0; i < args.length; i++) {
    const arg = args[i] ?? "";
    if (arg === "--") {
      operands.push(...args.slice(i + 1));
      break;
    }
    if (arg.startsWith("--")) {
      const [name = ""] = arg.slice(2).split("=", 1);
      options.add(name);
      if (!arg.includes("=") && longs.includes(name)) i++;
    } else if (arg.startsWith("-") && arg !== "-") {
      for (let at = 1; at < arg.length; at++) {
        const letter = arg[at] ?? "";
        options.add(letter);
        if (!letters.includes(letter)) continue;
        if (at === arg.length - 1) i++;
        break;
      }
    } else {
      operands.push(arg);
    }
  }
  return { options, operands };
};

export const hasAny = ({ options }: Arguments, names: string): boolean =>
  names.split(" ").some((name) => options.has(name));
