import { execFile } from "node:child_process";
import { homedir } from "node:os";
import { promisify } from "node:util";
import { SYSTEM_PATH } from "../../os/system-programs.ts";

const TIMEOUT_MS = 2000;

const ask = async (key: string): Promise<string> => {
  try {
    // The user's own configuration, asked outside every workspace.
    const { stdout } = await promisify(execFile)("git", ["config", "--global", "--get", key], {
      cwd: "/",
      timeout: TIMEOUT_MS,
      maxBuffer: 4096,
      env: { HOME: homedir(), PATH: SYSTEM_PATH.join(":"), GIT_TERMINAL_PROMPT: "0" },
    });
    return stdout.trim();
  } catch {
    return "";
  }
};

const quoted = (value: string): string => `"${value.replace(/[\\"]/g, "\\$&").replace(/[\n\r\0]/g, " ")}"`;

/**
 * The name and e-mail that a commit bears, as a configuration file of its own: nothing else of the user's configuration
 * is used.
 */
export const gitIdentityConfig = async (): Promise<string> => {
  const [name, email] = await Promise.all([ask("user.name"), ask("user.email")]);
  const lines = [
    ...(name === "" ? [] : [`\tname = ${quoted(name)}`]),
    ...(email === "" ? [] : [`\temail = ${quoted(email)}`]),
  ];
  return lines.length === 0 ? "" : `[user]\n${lines.join("\n")}\n`;
};
