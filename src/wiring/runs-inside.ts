import type { Finding } from "../cli/doctor-command.ts";
import { programFiles, programFoldersIn } from "../host/os/program-files.ts";
import type { AppRequest } from "./app.ts";

const MAX_NAMED = 4;

/** For a person whose llmc is installed in the workspace itself: what that closes to commands. */
export const describeRunsInside = ({ root, env }: Pick<AppRequest, "root" | "env">): string | undefined => {
  const folders = programFoldersIn(root, programFiles(env));
  if (folders.length === 0) return undefined;
  const more = folders.length > MAX_NAMED ? ` and ${folders.length - MAX_NAMED} more folders` : "";
  return `llmc runs from this workspace, so no command can change ${folders.slice(0, MAX_NAMED).join(", ")}${more}; npm install and caches in there fail`;
};

export const INSTALL_OUTSIDE = "npm install -g llmc-mcp, and take llmc out of the project";

export const examineInside = (request: AppRequest): readonly Finding[] => {
  const detail = describeRunsInside(request);
  return detail === undefined ? [] : [{ name: "own files", state: "weak", detail, fix: INSTALL_OUTSIDE }];
};
