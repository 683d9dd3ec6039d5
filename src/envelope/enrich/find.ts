import { plural } from "../../base/text.ts";
import { plainText, splitLines } from "../text/lines.ts";
import type { Enricher } from "./contract.ts";
import { summarizePaths } from "./path-list.ts";

/** With these the output is something else than one path on each line. */
const OTHER_OUTPUT = new Set("-printf -fprintf -ls -exec -execdir -ok -okdir -print0 -quit".split(" "));
const FD_OTHER_OUTPUT = new Set("-x --exec -X --exec-batch -l --list-details --format -0".split(" "));

export const find: Enricher = {
  name: "find",
  programs: ["find", "fd", "fdfind"],
  enrich: (ran, limits) => {
    const [program, ...args] = ran.argv;
    const others = program === "find" ? OTHER_OUTPUT : FD_OTHER_OUTPUT;
    if (args.some((arg) => others.has(arg.replace(/=.*/s, "")))) return undefined;
    const paths = splitLines(plainText(ran.stdout));
    const title = `${ran.cut ? "at least " : ""}${plural(paths.length, "path")}`;
    return { ...summarizePaths(paths, limits, title), matchCount: paths.length };
  },
};
