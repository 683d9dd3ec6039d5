import { nearest, quoteForMessage } from "../base/text.ts";
import { removalReason } from "./removed-keys.ts";
import { ENTRIES, TABLES } from "./sections.ts";

const KEYS = [...ENTRIES.keys()];

/** The same name in another table comes before a similar name far away: `mcp.port` means `mcp.server.port`. */
export const nearestKey = (key: string): string | undefined => {
  const cut = key.lastIndexOf(".");
  const name = key.slice(cut + 1);
  const siblings = TABLES.find(({ path }) => path === key.slice(0, cut))?.entries ?? [];
  const sibling = nearest(
    name,
    siblings.map((entry) => entry.name),
  );
  if (sibling !== undefined) return `${key.slice(0, cut)}.${sibling}`;
  const namesakes = KEYS.filter((candidate) => candidate.endsWith(`.${name}`));
  return nearest(key, namesakes) ?? namesakes[0] ?? nearest(key, KEYS);
};

export const nearestTable = (path: string): string | undefined => {
  const paths = TABLES.map((table) => table.path);
  return paths.find((candidate) => candidate.endsWith(`.${path}`)) ?? nearest(path, paths);
};

export const unknownName = (what: "key" | "table" | "variable", shown: string, meant: string | undefined) =>
  `unknown ${what} ${quoteForMessage(shown)}${meant === undefined ? "" : `; did you mean "${meant}"?`}`;

/** For a key, or a table, that is not ours: why it was removed, or which one was meant. */
export const unknownPath = (what: "key" | "table", key: string, shown = key): string => {
  const reason = removalReason(key);
  if (reason !== undefined) return `${shown} was removed, because ${reason}; take it out`;
  return unknownName(what, shown, what === "key" ? nearestKey(key) : nearestTable(key));
};
