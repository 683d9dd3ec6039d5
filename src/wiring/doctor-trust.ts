import { quoteForMessage } from "../base/text.ts";
import type { Finding } from "../cli/doctor-command.ts";
import type { TrustPlan } from "../cli/trust-command.ts";
import type { Loaded } from "../config/load.ts";
import type { AppRequest } from "./app.ts";
import { createTrust } from "./trust.ts";
import { trustCommand } from "./trust-command-line.ts";

const namesOf = (what: string, files: TrustPlan["modules"]): readonly string[] =>
  files.filter(({ isGranted }) => !isGranted).map(({ file }) => `${what} ${quoteForMessage(file)}`);

/** What the workspace's file asks for and does not get. */
export const examineTrust = async (
  request: AppRequest,
  loaded: Loaded | undefined,
): Promise<readonly Finding[]> => {
  if (loaded === undefined) return [];
  const { values, modules, executables, flows, policies } = await createTrust(request).plan();
  const files = [...modules, ...executables, ...flows, ...policies];
  if (loaded.workspaceFile === undefined && files.length === 0) return [];
  const waiting = [
    ...values.filter(({ isGranted }) => !isGranted).map(({ key }) => key),
    ...namesOf("the module", modules),
    ...namesOf("the executable", executables),
    ...namesOf("the flow", flows),
    ...namesOf("the policies of", policies),
  ];
  return [
    waiting.length === 0
      ? { name: "trust", state: "good", detail: "all that the workspace asks for is in force" }
      : {
          name: "trust",
          state: "weak",
          detail: `the workspace is not trusted with ${waiting.join(", ")}`,
          fix: trustCommand(request),
        },
  ];
};
