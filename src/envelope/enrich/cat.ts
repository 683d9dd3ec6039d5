import { baseName } from "../../base/paths.ts";
import { plural } from "../../base/text.ts";
import { looksBinary, splitLines } from "../text/lines.ts";
import { fits } from "./budget.ts";
import type { Enricher } from "./contract.ts";
import { headAndTail } from "./head-and-tail.ts";

/** What comes first matters in a file; what comes last, where only the end was asked for. */
const HEAD_SHARE = { cat: 0.75, head: 0.85, tail: 0.15 };

export const cat: Enricher = {
  name: "cat",
  programs: ["cat", "head", "tail", "tac", "nl"],
  enrich: (ran, limits) => {
    if (looksBinary(ran.stdout)) {
      return {
        text: `[binary, about ${ran.stdout.length} bytes, not shown]`,
        matchCount: null,
        truncated: true,
      };
    }
    if (fits(ran.stdout, limits)) return undefined;
    const lines = splitLines(ran.stdout);
    const program = baseName(ran.argv[0]);
    const head = program === "tail" ? HEAD_SHARE.tail : program === "head" ? HEAD_SHARE.head : HEAD_SHARE.cat;
    const title = `[${ran.cut ? "at least " : ""}${plural(lines.length, "line")}]`;
    const { text } = headAndTail(lines, { ...limits, maxTokens: limits.maxTokens - 10 }, { head });
    return { text: `${title}\n${text}`, matchCount: null, truncated: true };
  },
};
