import { toLlmcError } from "./base/error.ts";
import { ERROR_TABLE } from "./base/error-table.ts";
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
  const error = toLlmcError(thrown);
  const cause =
    error.code === "internal_error" && error.cause instanceof Error ? `\n${error.cause.stack ?? ""}` : "";
  stderr.write(`llmc: ${error.message}${error.hint === undefined ? "" : `\n      ${error.hint}`}${cause}\n`);
  process.exitCode = ERROR_TABLE[error.code].exit;
};

await run(process.argv.slice(2)).catch(fail);
await stderr.flush();
// stdin may still be open, and a socket of stdout with it: the work is done, so the program ends.
if (process.stdout.writableLength === 0) process.exit();
process.stdout.end(() => process.exit());
