import { isRecord } from "../base/is-record.ts";
import type { Loaded } from "../config/load.ts";

/** Shorter values stand in texts by chance. */
const MIN_CHARS = 8;

/** The names of variables in the configuration: every key that ends in `_env`, and the sources of tokens. */
const variablesIn = (value: unknown, key = ""): readonly string[] => {
  if (typeof value === "string") {
    const source = /\benv:(\w+)$/.exec(value)?.[1];
    return key.endsWith("_env") ? [value] : source === undefined ? [] : [source];
  }
  if (Array.isArray(value)) return value.flatMap((one) => variablesIn(one));
  return isRecord(value) ? Object.entries(value).flatMap(([name, one]) => variablesIn(one, name)) : [];
};

/** As it stands in a text, and as it stands between quotes there. */
const formsOf = (secret: string): readonly string[] => [secret, JSON.stringify(secret).slice(1, -1)];

/**
 * The secrets that the server itself holds: its tokens and the keys of providers. A caller may have got hold of one and put it
 * into a call; a question shows the call to a person and to the client, so it shows the variable's name instead.
 */
export const createKnownSecrets = (
  config: () => Loaded["config"],
  env: Readonly<Record<string, string | undefined>>,
) => {
  const added = new Map<string, string>();
  return {
    /** One that comes from elsewhere. */
    add: (name: string, secret: string): void => void added.set(name, secret),
    hide: (text: string): string => {
      const fromEnv = variablesIn(config().mcp).map((name) => [name, env[name] ?? ""] as const);
      return [...fromEnv, ...added]
        .filter(([, secret]) => secret.length >= MIN_CHARS)
        .reduce(
          (shown, [name, secret]) =>
            formsOf(secret).reduce((each, form) => each.replaceAll(form, () => `[${name}]`), shown),
          text,
        );
    },
  };
};
