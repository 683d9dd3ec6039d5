import { quoteForMessage } from "../base/text.ts";
import type { LeftOutCode } from "../core/registry.ts";

/** Why a file of the operator or of the workspace became no tool, on one line. */
export const describeLeftOut = ({ kind, file, reason, isUntrusted }: LeftOutCode, trust: string): string => {
  const what =
    file === "(all)"
      ? "the folder of executables brings no tools"
      : `the ${kind} ${quoteForMessage(file)} is no tool`;
  const wayOut = isUntrusted ? ` (${trust} shows and grants it)` : "";
  return `${what}: ${reason.replace(/\.$/, "")}${wayOut}`;
};
