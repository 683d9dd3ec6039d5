import { homedir } from "node:os";
import { runTe } from "./te/program.ts";
import { endProgram } from "./wiring/end-program.ts";
import { tePartsOf } from "./wiring/te-parts.ts";

process.exitCode = await runTe(
  process.argv.slice(2),
  tePartsOf({
    cwd: process.cwd(),
    home: homedir(),
    env: process.env,
    streams: { stdin: 0, stdout: process.stdout, stderr: process.stderr },
  }),
);
endProgram();
