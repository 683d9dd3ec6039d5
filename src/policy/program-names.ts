import { posix } from "node:path";

/** Those that every agent tries anyway: where not all can be named, these are left out first. */
const EXPECTED = ["uniq", "stat", "file", "wc", "tree", "diff", "sort", "ls", "tail", "head", "find", "cat"];

/** About 60 tokens. */
const MAX_NAMED = 24;

/** The allowed programs by name, briefly: what the operator added is named before what everybody expects. */
export const nameBriefly = (allowlist: readonly string[]): string => {
  const names = [...new Set(allowlist.map((entry) => posix.basename(entry)))];
  const surplus = names.length - MAX_NAMED;
  if (surplus <= 0) return names.join(" ");
  const dropped = new Set(EXPECTED.filter((name) => names.includes(name)).slice(0, surplus));
  const shown = names.filter((name) => !dropped.has(name)).slice(-MAX_NAMED);
  return `${shown.join(" ")} and ${names.length - shown.length} more`;
};
