/** A server's processes without the server, to be killed: argv holds the tier, the folder, the tag and whether it is a terminal. */
import type { Tier } from "../../src/host/run/tiers/contract.ts";
import { flooding, hostile, OWNER, processesIn } from "./process-stand.ts";

const [, , tier = "plain", root = "/", tag = "", kind = ""] = process.argv;
const { processes } = processesIn(tier as Tier, root);
const { id } = await processes.start(
  { command: hostile(tag), cwd: undefined, pty: kind === "pty" },
  OWNER,
  0,
);
await flooding(processes, id);
process.stdout.write("ready\n");
setInterval(() => {}, 60_000);
