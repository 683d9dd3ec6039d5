import { LlmcError } from "../base/error.ts";
import { nearest, quoteForMessage } from "../base/text.ts";

/** Who runs it, as far as the command line says. */
export interface TeWho {
  readonly agent?: string;
  readonly session?: string;
  readonly model?: string;
}

export type TeRequest =
  | {
      readonly kind: "run";
      readonly argv: readonly [string, ...string[]];
      readonly json: boolean;
      readonly raw: boolean;
      readonly who: TeWho;
    }
  | {
      readonly kind: "handle";
      readonly id: string;
      readonly chunk: number | undefined;
      readonly json: boolean;
    }
  | { readonly kind: "list-handles"; readonly json: boolean }
  | { readonly kind: "stats"; readonly json: boolean }
  | { readonly kind: "help" }
  | { readonly kind: "version" };

export const TE_HELP = `te: run a command and tell its output in few tokens

  te [options] COMMAND [ARGUMENTS...]   everything from COMMAND on belongs to the command
  te --handle ID [--chunk N]            read what was kept of a long output (64 KiB a chunk, from 0)
  te --list-handles                     what is kept
  te --stats                            what commands have cost so far

  --json         one JSON document: output, exit code, counts, handle, tokens
  --raw          the output as it is
  --agent NAME, --session NAME, --model NAME
                 who runs it (default: TE_AGENT_ID, TE_SESSION_ID, TE_MODEL)
  --help, --version

The exit code is the command's. The workspace is the nearest folder above with llmc.toml or .llmc, else the top of
the git repository; elsewhere nothing is kept, and long output is shown whole.
`;

const FLAGS = ["--json", "--raw", "--list-handles", "--stats", "--help", "-h", "--version"] as const;
const WITH_VALUE = ["--handle", "--chunk", "--agent", "--session", "--model"] as const;
const NAMES: readonly string[] = [...FLAGS, ...WITH_VALUE];

const bad = (message: string, hint = "te --help shows the options."): LlmcError =>
  new LlmcError("invalid_args", message, { hint });

interface Parsed {
  readonly flags: ReadonlySet<string>;
  readonly values: ReadonlyMap<string, string>;
  readonly rest: readonly string[];
}

/** Reads te's own options, which end at the first argument that is not an option: all further ones belong to the command (FAIL-C8). */
const split = (argv: readonly string[]): Parsed => {
  const flags = new Set<string>();
  const values = new Map<string, string>();
  let at = 0;
  for (; at < argv.length; at++) {
    const arg = argv[at] ?? "";
    if (arg === "--") return { flags, values, rest: argv.slice(at + 1) };
    if (!arg.startsWith("-") || arg === "-") break;
    const equals = arg.indexOf("=");
    const name = equals < 0 ? arg : arg.slice(0, equals);
    if (FLAGS.some((flag) => flag === name) && equals < 0) flags.add(name);
    else if (WITH_VALUE.some((known) => known === name)) {
      const value = equals < 0 ? argv[++at] : arg.slice(equals + 1);
      if (value === undefined || value === "") throw bad(`${name} needs a value.`);
      values.set(name, value);
    } else {
      const meant = nearest(name, NAMES);
      throw bad(
        `te has no option ${quoteForMessage(name)}.${meant === undefined ? "" : ` Did you mean ${meant}?`}`,
        "Options of the command stand behind its name; te --help shows those of te.",
      );
    }
  }
  return { flags, values, rest: argv.slice(at) };
};

const chunkOf = (text: string | undefined): number | undefined => {
  if (text === undefined) return undefined;
  if (!/^\d{1,9}$/.test(text)) throw bad("--chunk takes a whole number, counted from 0.");
  return Number(text);
};

const whoOf = (values: ReadonlyMap<string, string>): TeWho => {
  const [agent, session, model] = ["--agent", "--session", "--model"].map((name) => values.get(name));
  return {
    ...(agent === undefined ? {} : { agent }),
    ...(session === undefined ? {} : { session }),
    ...(model === undefined ? {} : { model }),
  };
};

/** What `te` was asked to do, from a shell or from a client alike. */
export const parseTe = (argv: readonly string[]): TeRequest => {
  const { flags, values, rest } = split(argv);
  const json = flags.has("--json");
  const id = values.get("--handle");
  const [program, ...args] = rest;
  if (flags.has("--help") || flags.has("-h")) return { kind: "help" };
  if (flags.has("--version")) return { kind: "version" };
  const lone = [
    id !== undefined && "--handle",
    flags.has("--list-handles") && "--list-handles",
    flags.has("--stats") && "--stats",
  ].filter((name) => name !== false);
  if (lone.length > 1 || (lone.length > 0 && program !== undefined))
    throw bad(`${lone[0]} stands alone: it runs no command.`);
  if (id !== undefined)
    return { kind: "handle", id: id.replace(/^handle:/, ""), chunk: chunkOf(values.get("--chunk")), json };
  if (values.has("--chunk")) throw bad("--chunk goes with --handle.");
  if (flags.has("--list-handles")) return { kind: "list-handles", json };
  if (flags.has("--stats")) return { kind: "stats", json };
  if (program === undefined || program === "") throw bad("te needs a command to run.");
  return { kind: "run", argv: [program, ...args], json, raw: flags.has("--raw"), who: whoOf(values) };
};
