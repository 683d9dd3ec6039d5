import { toLlmcError } from "../base/error.ts";
import { confirmChange } from "./confirm-change.ts";
import { renderDiff } from "./connect/diff.ts";
import {
  applyConnection,
  type ConnectDisk,
  planConnection,
  planRemoval,
  printEntry,
} from "./connect/plan.ts";
import { buildEntry, type ConnectionRequest, locateTarget } from "./connect/target.ts";
import type { Io } from "./io.ts";

interface ConnectOptions {
  readonly request: ConnectionRequest;
  readonly remove: boolean;
  /** Only print the entry. */
  readonly print: boolean;
  /** Write without asking. */
  readonly yes: boolean;
  /** What commands may run, in lines for a person. */
  readonly describePrograms: () => Promise<string>;
}

export const runConnect = async (
  { request, remove, print, yes, describePrograms }: ConnectOptions,
  disk: ConnectDisk,
  io: Io,
): Promise<void> => {
  if (print) {
    io.data(
      `# ${locateTarget(request).files[0]}\n${printEntry(request.client, buildEntry(request), request.name)}\n`,
    );
    return;
  }
  const plan = await (remove ? planRemoval({ ...request, disk }) : planConnection({ ...request, disk }));
  if (!plan.changed) {
    io.out(`${plan.file} needs no change.\n`);
    return;
  }
  io.out(renderDiff(plan.before, plan.after ?? "", plan.file, io.hasColours));
  const question = `Write this to ${plan.file}?`;
  const hint = "Add --yes to write, or --print to print only the entry.";
  if (!(await confirmChange(io, yes, { question, done: "written", hint }))) return;
  const { file, backup } = await applyConnection(plan, disk);
  const done =
    plan.after === undefined ? `Removed ${file}, in which nothing else was left.` : `Wrote ${file}.`;
  io.out(
    `${done}${backup === undefined ? "" : ` The old file is kept as ${backup}.`}\nRestart the client, or reload its MCP servers.\n`,
  );
  if (remove) return;
  // The client is connected, whatever is wrong with the configuration of the commands.
  io.out(await describePrograms().catch((thrown: unknown) => `note: ${toLlmcError(thrown).message}\n`));
};
