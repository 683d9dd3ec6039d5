import { spawn } from "node:child_process";

/** What opens a file for a person, by system; on Linux only where there is a screen. */
const openerOf = (env: Readonly<Record<string, string | undefined>>): string | undefined => {
  if (process.platform === "darwin") return "open";
  const hasScreen = Boolean(env["DISPLAY"]) || Boolean(env["WAYLAND_DISPLAY"]);
  return process.platform === "linux" && hasScreen ? "xdg-open" : undefined;
};

/** Opens a page in the person's browser, where there is one; what comes of it is not waited for. */
export const openPage = (path: string, env: Readonly<Record<string, string | undefined>>): void => {
  const opener = openerOf(env);
  if (opener === undefined) return;
  const child = spawn(opener, [path], { detached: true, stdio: "ignore" });
  // Not installed: the path was printed.
  child.on("error", () => {});
  child.unref();
};
