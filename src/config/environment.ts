import { nearest } from "../base/text.ts";
import { parseText } from "./check-value.ts";
import type { Layer, Setting } from "./layer.ts";
import { ENTRIES, VARIABLE_PREFIX } from "./sections.ts";
import { unknownName } from "./suggest.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

/** An empty variable is a value, not an absence: for a list it is the empty list, which denies. */
export const readEnvironment = (env: Environment): Layer => {
  const settings = new Map<string, Setting>();
  const problems: string[] = [];
  for (const { key, option, variable } of ENTRIES.values()) {
    const text = env[variable];
    if (text === undefined) continue;
    const checked = parseText(option, text);
    if ("value" in checked) {
      settings.set(key, { value: checked.value, origin: { source: "env", detail: variable } });
    } else problems.push(`${variable}: ${key}: ${checked.complaint}`);
  }
  return { settings, problems };
};

const TOKEN_VARIABLE = String(ENTRIES.get("mcp.auth.token_env")?.option.default);

/** Without this, a misspelt variable would silently leave the default in force. */
export const unknownVariables = (
  env: Environment,
  tokenVariable = TOKEN_VARIABLE,
  further: readonly string[] = [],
): string[] => {
  const known = new Set([...ENTRIES.values()].map(({ variable }) => variable).concat(tokenVariable, further));
  return Object.keys(env)
    .filter((name) => name.startsWith(VARIABLE_PREFIX) && env[name] !== undefined && !known.has(name))
    .sort()
    .map((name) => {
      const meant = name === TOKEN_VARIABLE ? tokenVariable : nearest(name, known);
      return `environment: ${unknownName("variable", name, meant)}`;
    });
};
