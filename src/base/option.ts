import { z } from "zod";

/** One configuration key: its type, its default, and the sentence that every page and help text shows. */
export interface Option<T = unknown> {
  readonly schema: z.ZodType<T>;
  readonly default: T;
  readonly says: string;
  /** Set while the feature it steers is still to come: the key is accepted, checked and shown, and does nothing yet. */
  readonly planned: boolean;
  /** Takes effect at the next start only; everything else is hot. */
  readonly restart: boolean;
}

interface OptionExtras {
  readonly planned?: boolean;
  readonly restart?: boolean;
}

/** One TOML table: `[path]` and its keys. */
export interface Section<O extends Readonly<Record<string, Option>> = Readonly<Record<string, Option>>> {
  readonly path: string;
  readonly says: string;
  readonly options: O;
}

export type ValuesOf<S extends Section> = { readonly [K in keyof S["options"]]: S["options"][K]["default"] };

/** Most keys are never set: the schema is made for one that is. All of them took a tenth of the server's start. */
const option = <T>(
  makeSchema: () => z.ZodType<T>,
  value: T,
  says: string,
  extras: OptionExtras = {},
): Option<T> => {
  let schema: z.ZodType<T> | undefined;
  return {
    get schema() {
      schema ??= makeSchema();
      return schema;
    },
    default: value,
    says,
    planned: extras.planned ?? false,
    restart: extras.restart ?? false,
  };
};

export const flag = (value: boolean, says: string, extras?: OptionExtras): Option<boolean> =>
  option(() => z.boolean(), value, says, extras);

export const whole = (
  value: number,
  min: number,
  max: number,
  says: string,
  extras?: OptionExtras,
): Option<number> => option(() => z.int().min(min).max(max), value, says, extras);

export const text = (value: string, says: string, extras?: OptionExtras): Option<string> =>
  option(() => z.string(), value, says, extras);

export const oneOf = <const T extends readonly [string, ...string[]]>(
  values: T,
  value: T[number],
  says: string,
  extras?: OptionExtras,
): Option<T[number]> => option<T[number]>(() => z.enum(values), value, says, extras);

export const list = (
  value: readonly string[],
  says: string,
  extras?: OptionExtras,
): Option<readonly string[]> => option<readonly string[]>(() => z.array(z.string()), value, says, extras);

export const section = <const O extends Readonly<Record<string, Option>>>(
  path: string,
  says: string,
  options: O,
): Section<O> => ({ path, says, options });
