import { showControls } from "./base/text.ts";
import { describeFailure } from "./cli/describe-failure.ts";
import "./host/os/english-only.ts";
import { endProgram } from "./wiring/end-program.ts";
import { processStart } from "./wiring/request.ts";
import { serveCore } from "./wiring/serve-core.ts";

const start = processStart();

await serveCore(start).catch((thrown: unknown) => {
  const { text, exit } = describeFailure(thrown);
  start.stderr.write(showControls(text));
  process.exitCode = exit;
});
await start.stderr.flush();
endProgram();
