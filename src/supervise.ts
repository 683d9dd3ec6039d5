import { showControls } from "./base/text.ts";
import { describeFailure } from "./cli/describe-failure.ts";
import { parseServe } from "./cli/serve-flags.ts";
import "./host/os/english-only.ts";
import { lazyParseArgs } from "./host/os/lazy-builtins.ts";
import { endProgram } from "./wiring/end-program.ts";
import { processStart } from "./wiring/request.ts";
import { supervise } from "./wiring/supervise.ts";

/** What `llmc serve --stdio` starts; everything else is the command line's. */
const argv = process.argv.slice(2);
const options = parseServe(argv, lazyParseArgs);

if (options?.stdio && !options.http) {
  const start = processStart();
  try {
    process.exitCode = await supervise(start, argv, options);
  } catch (thrown) {
    const { text, exit } = describeFailure(thrown);
    start.stderr.write(showControls(text));
    process.exitCode = exit;
  }
  await start.stderr.flush();
  endProgram();
} else await import("./main.ts");
