import { MODEL_NAME, MODEL_PREFIXES, SAMPLING_MODEL } from "./model-name.ts";

/**
 * Which change of a value gives a workspace, a client or anybody else more rights than before, or hides what they did
 * (REQ-D22). Such a change in an untrusted `llmc.toml` waits for the operator's trust; any other change applies at once.
 * When in doubt, it is "any".
 */
export type Widens =
  /** Of a flag: this value. */
  | boolean
  /** Any other value. */
  | "any"
  | "never"
  /** A larger or smaller number. */
  | "more"
  | "less"
  /** Entries that are added to or removed from a list. */
  | "additions"
  | "removals"
  /** Directories whose real path is outside of those that are already allowed. */
  | "roots"
  /** Paths outside the workspace, judged lexically; policy decides again when they are opened. */
  | "outside"
  /** A list that restricts unless it is empty: adding entries, or removing all. */
  | "filter"
  /** The values of a choice, from narrow to wide. */
  | readonly string[];

/** The pattern of a text, and the message for one that does not match. */
interface Shape {
  readonly pattern: RegExp;
  readonly expected: string;
}

/** The type of a key: messages, docs, parsers and the JSON Schema are derived from it. */
export type Kind =
  | { readonly is: "flag" }
  /** A text, or a list of texts. */
  | { readonly is: "text" | "list"; readonly shape?: Shape | undefined }
  | { readonly is: "whole" | "decimal"; readonly min: number; readonly max: number }
  | { readonly is: "choice"; readonly values: readonly string[] };

/** One configuration key: its type, its default, and the sentence that every page and help text shows. */
export interface Option<T = unknown> extends OptionExtras {
  readonly kind: Kind;
  /** Null if the key is unset by default, because TOML has no null. */
  readonly default: T;
  readonly widens: Widens;
  readonly description: string;
}

/** Entries of the reach table (`policy/reach-table.ts`) whose files are found by configured paths. */
export type PathEntry = "state folder" | "state file" | "config" | "modules" | "models" | "startup";

/** Which entry says who may read and write what lies at a path; or why callers may use it as any other file. */
export type PathUse = PathEntry | { readonly noEntry: string };

interface OptionExtras {
  /** Takes effect at the next start; all other keys take effect at once. */
  readonly restart?: boolean | undefined;
  /** Of a path or a list of paths, in which a leading `~` is the home folder: whose files lie there. */
  readonly path?: PathUse | undefined;
  /** Names a model that text is sent to, unless it is empty: an air gap lets its server through, and no other. */
  readonly isModel?: true;
  /** Whether an allowed entry of a list includes another one. By default only if they are equal. */
  readonly covers?: ((allowed: string, asked: string) => boolean) | undefined;
  /** The number that means "unlimited". */
  readonly unlimited?: number | undefined;
}

/** One TOML table: `[path]` and its keys. */
export interface Section<O extends Readonly<Record<string, Option>> = Readonly<Record<string, Option>>> {
  readonly path: string;
  readonly description: string;
  readonly options: O;
}

export type ValuesOf<S extends Section> = { readonly [K in keyof S["options"]]: S["options"][K]["default"] };

export const flag = (
  value: boolean,
  widens: boolean | "any" | "never",
  description: string,
  extras?: OptionExtras,
): Option<boolean> => ({ kind: { is: "flag" }, default: value, widens, description, ...extras });

export const whole = (
  value: number,
  min: number,
  max: number,
  widens: "more" | "less" | "any" | "never",
  description: string,
  extras?: OptionExtras,
): Option<number> => ({ kind: { is: "whole", min, max }, default: value, widens, description, ...extras });

export const decimal = (
  value: number,
  min: number,
  max: number,
  widens: "more" | "less" | "any" | "never",
  description: string,
  extras?: OptionExtras,
): Option<number> => ({ kind: { is: "decimal", min, max }, default: value, widens, description, ...extras });

export const text = (
  value: string,
  widens: "any" | "never",
  description: string,
  extras?: OptionExtras & { readonly shape?: Shape },
): Option<string> => {
  const { shape, ...others } = extras ?? {};
  return { kind: { is: "text", shape }, default: value, widens, description, ...others };
};

/** Where text goes and who pays is the operator's choice, so any change widens. `offered`: the client's own model may do. */
export const modelName = (description: string, offered?: "or the client's"): Option<string> => {
  const names = [...MODEL_PREFIXES.map((prefix) => `${prefix}/NAME`), ...(offered ? [SAMPLING_MODEL] : [])];
  const others = offered ? `^$|^${SAMPLING_MODEL}$` : "^$";
  return text("", "any", description, {
    isModel: true,
    shape: {
      pattern: new RegExp(`${others}|${MODEL_NAME.source}`),
      expected: `expected ${names.join(", ")}, or nothing`,
    },
  });
};

export const oneOf = <const T extends readonly [string, ...string[]]>(
  values: T,
  value: T[number],
  widens: readonly T[number][] | "any" | "never",
  description: string,
  extras?: OptionExtras,
): Option<T[number]> => ({ kind: { is: "choice", values }, default: value, widens, description, ...extras });

export const list = <T extends readonly string[] | null>(
  value: T,
  widens: "additions" | "removals" | "roots" | "outside" | "filter" | "any" | "never",
  description: string,
  extras?: OptionExtras & { readonly shape?: Shape },
): Option<T extends null ? readonly string[] | null : readonly string[]> => {
  const { shape, ...others } = extras ?? {};
  return { kind: { is: "list", shape }, default: value as never, widens, description, ...others };
};

export const section = <const O extends Readonly<Record<string, Option>>>(
  path: string,
  description: string,
  options: O,
): Section<O> => ({ path, description, options });
