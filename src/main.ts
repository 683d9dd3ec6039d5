import { showControls } from "./base/text.ts";
import { describeFailure } from "./cli/describe-failure.ts";
import { parseServe } from "./cli/serve-flags.ts";
import "./host/os/english-only.ts";
import { lazyParseArgs } from "./host/os/lazy-builtins.ts";
import { endProgram } from "./wiring/end-program.ts";
import { processStart, requestOf } from "./wiring/request.ts";

const start = processStart();

const run = async (argv: readonly string[]): Promise<void> => {
  // A client waits for this one at every start: it goes without the command line's library and its help texts.
  const serve = parseServe(argv, lazyParseArgs);
  if (serve?.stdio && !serve.http) {
    const [{ serveStdio }, request] = await Promise.all([
      import("./wiring/serve.ts"),
      requestOf(start, serve, true),
    ]);
    return serveStdio(request, start.signals);
  }
  const [{ runCommandLine }, { processTerminal }] = await Promise.all([
    import("./wiring/commands.ts"),
    import("./wiring/terminal.ts"),
  ]);
  return runCommandLine(argv, {
    ...start,
    io: processTerminal(start.stderr),
    setExitCode: (code) => {
      process.exitCode = code;
    },
  });
};

const fail = (thrown: unknown): void => {
  const { text, exit } = describeFailure(thrown);
  start.stderr.write(showControls(text));
  process.exitCode = exit;
};

await run(process.argv.slice(2)).catch(fail);
await start.stderr.flush();
endProgram();
