import { toLlmcError } from "../base/error.ts";
import type { Finding } from "../cli/doctor-command.ts";
import { createDisk } from "../host/own-files/disk.ts";
import { openSecretKey, openUserState } from "../host/own-files/secret-key.ts";
import { hasOtherState } from "../host/own-files/state-folder.ts";
import type { AppRequest } from "./app.ts";
import { trustCommand, usualState } from "./trust-command-line.ts";

type Request = Pick<AppRequest, "root" | "cwd" | "folders">;

const hasOtherKey = ({ root, folders }: Request): boolean => {
  try {
    return hasOtherState({ workspace: root, key: openSecretKey(folders.state) });
  } catch {
    return false;
  }
};

/**
 * Two environments of one user, of which one has XDG_STATE_HOME, have two state folders: trust that was given in one is
 * missing in the other, and nothing else would tell why. Undefined where there are no signs of that.
 */
export const describeOtherState = async (request: Request): Promise<string | undefined> => {
  const { state } = request.folders;
  const usual = usualState(request.folders);
  if (state !== usual && (await createDisk().exists(usual)))
    return `trust is kept in ${state}, as XDG_STATE_HOME says; a client that does not pass this variable on looks in ${usual} (for that one: env -u XDG_STATE_HOME ${trustCommand(request)})`;
  if (hasOtherKey(request))
    return `trust is kept in ${state}; somebody with another state folder has used this workspace, too. If that is a client of yours that sets XDG_STATE_HOME, run ${trustCommand(request)} with the same value`;
  return undefined;
};

/** Where trust and keys are looked for, and whether another environment looks elsewhere. */
export const examineState = async (request: Request): Promise<Finding> => {
  const name = "state folder";
  try {
    openUserState(request.folders.state).close();
  } catch (error) {
    const { message, hint } = toLlmcError(error);
    return { name, state: "bad", detail: `${message} Calls will be refused`, fix: hint };
  }
  const other = await describeOtherState(request);
  if (other === undefined) return { name, state: "good", detail: request.folders.state };
  return {
    name,
    state: "weak",
    detail: other,
    fix: "give clients the same XDG_STATE_HOME as your shell (llmc connect writes it into their settings)",
  };
};
