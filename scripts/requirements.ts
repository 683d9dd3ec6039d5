import { REQUIREMENTS } from "../test/requirements.ts";
import { citations } from "./citations.ts";

/** Prints the requirements and failure cases that no test cites yet; `--all` prints every one with its tests. */
const cited = citations();
const ids = Object.keys(REQUIREMENTS);
const open = ids.filter((id) => !cited.has(id));
const print = (line: string) => process.stdout.write(`${line}\n`);

if (process.argv.includes("--all")) {
  for (const id of ids) print(`${id}\t${REQUIREMENTS[id]}\t${(cited.get(id) ?? ["-"]).join(", ")}`);
} else {
  for (const id of open) print(`${id}\t${REQUIREMENTS[id]}`);
}
print(`${ids.length - open.length} of ${ids.length} are cited by tests; not yet: ${open.join(" ")}`);
