import { spawnSync } from "node:child_process";

const MOUNTED = "mounted\n";

/**
 * Runs a program in a mount namespace of its own, after a shell line that mounts something on `folder` (`$0`), and gives
 * what it prints. Works for root and, where user namespaces are allowed, for everybody else.
 */
export const runOnMount = (mount: string, folder: string, command: readonly string[]): string => {
  const shell = `${mount} && echo mounted && exec "$@"`;
  const args = ["--mount", "--map-root-user", "sh", "-c", shell, folder, ...command];
  const { stdout, stderr, error } = spawnSync("unshare", args, { encoding: "utf8" });
  if (error !== undefined) throw error;
  if (!stdout.startsWith(MOUNTED)) throw new Error(`Nothing can be mounted for this test: ${stderr}`);
  return stdout.slice(MOUNTED.length);
};
