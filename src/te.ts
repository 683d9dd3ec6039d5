import { runTe } from "./te/program.ts";
import { tePartsOf } from "./wiring/te-parts.ts";

process.exitCode = await runTe(process.argv.slice(2), tePartsOf(process.env));
// stdin may still be open. The command has ended, so te ends once everything is written.
if (process.stdout.writableLength === 0) process.exit();
process.stdout.end(() => process.exit());
