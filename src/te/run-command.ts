import type { RunContext, RunRequest } from "./run-context.ts";

/** A person at a terminal pays for no tokens: output without an enricher stays as it is, with colours and prompts. */
const isForPerson = async ({ argv }: RunRequest): Promise<boolean> =>
  Boolean(process.stdout.isTTY) &&
  (await import("../envelope/enrich/all.ts")).enricherFor(argv) === undefined;

/** Runs a command for the person, or the agent, at this terminal. */
export const runCommand = async (request: RunRequest, context: RunContext): Promise<number> => {
  const goesThrough =
    !request.json && (request.raw || context.state === undefined || (await isForPerson(request)));
  // Loaded apart: a command that passes through needs no enricher, and must not fail with one.
  try {
    if (goesThrough) return await (await import("./pass-through.ts")).passThrough(request, context);
    return await (await import("./envelop.ts")).envelop(request, context);
  } finally {
    context.state?.close();
  }
};
