import { spawn } from "node:child_process";
import { once } from "node:events";
import { UNLIMITED } from "../doors/http-door.ts";
import { cleanEnv, launcher } from "../workspace.ts";

/** The HTTP door of the real program, on a free port. */
export interface Door {
  /** Where MCP is served. */
  readonly url: URL;
  /** What the program has logged. */
  log(): string;
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

const ADDRESS = /http:\/\/127\.0\.0\.1:\d+\/mcp/;
const START_MS = 20_000;
/** These tests are not about stopping, which waits for clients that hold a connection open. */
const STOP_MS = 1000;

export const openDoor = async (root: string, args: readonly string[] = []): Promise<Door> => {
  const child = spawn(
    launcher,
    ["serve", "--http", "--port", "0", "--root", root, "--set", "mcp.auth.mode=none", ...UNLIMITED, ...args],
    { cwd: root, env: cleanEnv(), stdio: ["ignore", "pipe", "pipe"] },
  );
  const ended = once(child, "close");
  let log = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    log += text;
  });
  const address = new Promise<string>((resolve, reject) => {
    let shown = "";
    const fail = (why: string) => reject(new Error(`the door did not open: ${why}\n${log.slice(-2000)}`));
    const timer = setTimeout(() => fail(`not within ${START_MS} ms`), START_MS);
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      shown += text;
      const found = ADDRESS.exec(shown)?.[0];
      if (found === undefined) return;
      clearTimeout(timer);
      resolve(found);
    });
    child.once("close", () => fail("the program ended"));
  });
  const close = async (): Promise<void> => {
    child.kill("SIGTERM");
    const timer = setTimeout(() => child.kill("SIGKILL"), STOP_MS);
    await ended;
    clearTimeout(timer);
  };
  try {
    return { url: new URL(await address), log: () => log, close, [Symbol.asyncDispose]: close };
  } catch (error) {
    await close();
    throw error;
  }
};
