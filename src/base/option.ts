/**
 * Which change of a value gives a workspace, a client or a stranger more than before, or hides what they did
 * (REQ-D22). What an untrusted `llmc.toml` changes in that direction waits for the operator's word; the other
 * direction is in force at once. When in doubt, it is "any".
 */
export type Widens =
  /** Of a flag: the wide value. */
  | boolean
  /** Every other value. */
  | "any"
  | "never"
  /** Of a number: a larger or a smaller one. */
  | "more"
  | "less"
  /** Of a list: entries that are added, or taken away. */
  | "additions"
  | "removals"
  /** Directories: those outside the ones that are allowed anyway, by their real paths. */
  | "roots"
  /** Paths: those outside the workspace, by their letters; whoever opens them asks policy. */
  | "outside"
  /** A list that restricts once it has an entry: entries that are added, and emptying it. */
  | "filter"
  /** Of a choice: its values from narrow to wide. */
  | readonly string[];

/** What a text has to look like, and the words for one that does not. */
interface Shape {
  readonly pattern: RegExp;
  readonly expected: string;
}

/** What a key takes: messages, pages, parsers and the JSON Schema are derived from it. */
export type Kind =
  | { readonly is: "flag" }
  /** A text, or a list of texts. */
  | { readonly is: "text" | "list"; readonly shape?: Shape | undefined }
  | { readonly is: "whole"; readonly min: number; readonly max: number }
  | { readonly is: "choice"; readonly values: readonly string[] };

/** One configuration key: its type, its default, and the sentence that every page and help text shows. */
export interface Option<T = unknown> extends OptionExtras {
  readonly kind: Kind;
  /** Null where the key is left out by default: TOML has no word for it. */
  readonly default: T;
  readonly widens: Widens;
  readonly says: string;
}

interface OptionExtras {
  /** Set while the feature it steers is still to come: the key is accepted and checked, and not shown (REQ-D26). */
  readonly planned?: boolean | undefined;
  /** Would be taken for a protection that does not exist: written out, it stops the start (REQ-D26). */
  readonly noEffect?: boolean | undefined;
  /** Takes effect at the next start only; everything else is hot. */
  readonly restart?: boolean | undefined;
  /** A path, or a list of paths: `~` at the start stands for the user's home. */
  readonly path?: boolean | undefined;
  /** Of a list's entries: whether one that is allowed allows the other as well; left out: where they are the same. */
  readonly covers?: ((allowed: string, asked: string) => boolean) | undefined;
  /** The number that stands for no bound at all. */
  readonly unlimited?: number | undefined;
}

/** One TOML table: `[path]` and its keys. */
export interface Section<O extends Readonly<Record<string, Option>> = Readonly<Record<string, Option>>> {
  readonly path: string;
  readonly says: string;
  readonly options: O;
}

export type ValuesOf<S extends Section> = { readonly [K in keyof S["options"]]: S["options"][K]["default"] };

export const flag = (
  value: boolean,
  widens: boolean | "any" | "never",
  says: string,
  extras?: OptionExtras,
): Option<boolean> => ({ kind: { is: "flag" }, default: value, widens, says, ...extras });

export const whole = (
  value: number,
  min: number,
  max: number,
  widens: "more" | "less" | "any" | "never",
  says: string,
  extras?: OptionExtras,
): Option<number> => ({ kind: { is: "whole", min, max }, default: value, widens, says, ...extras });

export const text = (
  value: string,
  widens: "any" | "never",
  says: string,
  extras?: OptionExtras & { readonly shape?: Shape },
): Option<string> => {
  const { shape, ...others } = extras ?? {};
  return { kind: { is: "text", shape }, default: value, widens, says, ...others };
};

export const oneOf = <const T extends readonly [string, ...string[]]>(
  values: T,
  value: T[number],
  widens: readonly T[number][] | "any" | "never",
  says: string,
  extras?: OptionExtras,
): Option<T[number]> => ({ kind: { is: "choice", values }, default: value, widens, says, ...extras });

export const list = <T extends readonly string[] | null>(
  value: T,
  widens: "additions" | "removals" | "roots" | "outside" | "filter" | "any" | "never",
  says: string,
  extras?: OptionExtras & { readonly shape?: Shape },
): Option<T extends null ? readonly string[] | null : readonly string[]> => {
  const { shape, ...others } = extras ?? {};
  return { kind: { is: "list", shape }, default: value as never, widens, says, ...others };
};

export const section = <const O extends Readonly<Record<string, Option>>>(
  path: string,
  says: string,
  options: O,
): Section<O> => ({ path, says, options });
