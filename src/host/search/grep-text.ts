import { LlmcError } from "../../base/error.ts";
import type { Grep, GrepHit } from "../state/handles/search.ts";
import { checkPattern, textArgs } from "./args.ts";
import { createRecordParser } from "./records.ts";
import { explainComplaint } from "./refusal.ts";
import { findRipgrep, runRipgrep } from "./ripgrep.ts";

/** Searches a stored text as files are searched: the same patterns, in a process that can be ended. */
export const createGrep =
  (timeoutMs: () => number): Grep =>
  async (pattern, text, { offsetLines, maxHits, isCounted }, signal) => {
    checkPattern(pattern);
    const hits: GrepHit[] = [];
    let total = 0;
    const end = await runRipgrep({
      rgPath: await findRipgrep(),
      args: textArgs(pattern),
      cwd: "/",
      input: text,
      timeoutMs: timeoutMs(),
      signal,
      take: createRecordParser(
        {
          file: () => {},
          hit: (line, column = 1) => {
            if (line <= offsetLines || !isCounted(line)) return;
            total++;
            if (hits.length < maxHits) hits.push({ line, byte: column - 1 });
          },
        },
        true,
      ),
    });
    if (end.code === null)
      throw new LlmcError("timeout", `The handle could not be searched within ${timeoutMs() / 1000} s.`, {
        hint: "Read it by lines or chunks, or let the operator raise mcp.tools.read_timeout.",
      });
    if (end.code === 2 && end.stderr !== "") throw explainComplaint(end.stderr, pattern);
    return { hits, total };
  };
