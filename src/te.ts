import { runTe } from "./te/program.ts";

process.exitCode = await runTe(process.argv.slice(2));
// stdin may still be open: the command has ended, so do we, once everything is out.
if (process.stdout.writableLength === 0) process.exit();
process.stdout.end(() => process.exit());
