import { showControls } from "./base/text.ts";
import { describeFailure } from "./cli/describe-failure.ts";
import { parseServe } from "./cli/serve-flags.ts";
import { lazyParseArgs } from "./host/os/lazy-builtins.ts";
import { requestOf, stderr } from "./wiring/request.ts";

const run = async (argv: readonly string[]): Promise<void> => {
  // A client waits for this one at every start: it goes without the command line's library and its help texts.
  const serve = parseServe(argv, lazyParseArgs);
  if (serve?.stdio && !serve.http) {
    const [{ serveStdio }, request] = await Promise.all([
      import("./wiring/serve.ts"),
      requestOf(serve, true),
    ]);
    return serveStdio(request);
  }
  const { runCommandLine } = await import("./wiring/commands.ts");
  return runCommandLine(argv);
};

const fail = (thrown: unknown): void => {
  const { text, exit } = describeFailure(thrown);
  stderr.write(showControls(text));
  process.exitCode = exit;
};

await run(process.argv.slice(2)).catch(fail);
await stderr.flush();
// stdin may still be open, and a socket of stdout with it: the work is done, so the program ends.
if (process.stdout.writableLength === 0) process.exit();
process.stdout.end(() => process.exit());
