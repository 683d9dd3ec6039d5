import type { IndexState } from "./index-status.ts";

export const formatCount = (value: number): string => value.toLocaleString("en-US");

/** What an answer cannot have found yet; empty where everything is indexed. */
export const notesOnState = ({ state, done, total }: IndexState): readonly string[] => {
  if (state === "ready") return [];
  const missing =
    total > 0
      ? `${formatCount(total - done)} of ${formatCount(total)} files`
      : "files that are still being listed";
  return [`Not indexed yet, and not found: ${missing}. Ask again in a moment.`];
};
