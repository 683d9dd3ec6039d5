/**
 * After a run of all tests that failed: runs the files that failed once more, alone, three times, and accepts nothing but
 * three clean runs. A failure that comes from the program comes again; one that only came because five workers shared two
 * cores is printed here, to be found by whoever reads the log. `npm test` itself repeats nothing.
 */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { relative } from "node:path";

const MAX_FILES = 4;
const TIMES = 3;

const say = (text) => process.stdout.write(`second look: ${text}\n`);

const { testResults = [] } = JSON.parse(readFileSync(process.argv[2] ?? "", "utf8"));
const failed = [
  ...new Set(
    testResults.filter(({ status }) => status !== "passed").map(({ name }) => relative(process.cwd(), name)),
  ),
];
say(`${failed.length} files failed: ${failed.join(", ") || "none, but the run did"}`);
if (failed.length === 0 || failed.length > MAX_FILES) process.exit(1);
for (let time = 1; time <= TIMES; time++) {
  const { status } = spawnSync("node_modules/.bin/vitest", ["run", ...failed], { stdio: "inherit" });
  if (status !== 0) process.exit(1);
}
say(`they held ${TIMES} times alone. Make them hold among all others, too.`);
