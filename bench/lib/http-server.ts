import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

export const TOKEN = "a-token-for-the-benchmark";

/** For measurements that are not about limits. */
export const LIFTED: readonly string[] = [
  "rate_limit_rps=1000000",
  "rate_limit_burst=1000000",
  "concurrency_per_token=1000",
  "queue_per_token=10000",
].flatMap((limit) => ["--set", `mcp.limits.${limit}`]);

/** A server that listens on a free port of this machine. */
export interface HttpServer {
  readonly url: string;
  readonly pid: number;
  /** The exit status, once it has ended. */
  readonly exited: Promise<number | null>;
  kill(signal: NodeJS.Signals): void;
  close(): Promise<void>;
}

const start = async (command: string, args: readonly string[]): Promise<HttpServer> => {
  const child = spawn(command, args, {
    env: { ...process.env, LLMC_NODE: process.execPath, LLMC_MCP_TOKEN: TOKEN },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const exited = once(child, "close").then(([code]) => code as number | null);
  let output = "";
  // Read and dropped, as a supervisor would read it.
  child.stderr.on("data", () => {});
  const url = await new Promise<string>((resolve, reject) => {
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      output += text;
      const found = /http:\/\/[^/\s]+(?=\/mcp)/.exec(output)?.[0];
      if (found !== undefined) resolve(found);
    });
    child.once("close", (code) => reject(new Error(`${command} ended with ${code} before it listened`)));
  });
  return {
    url,
    pid: child.pid ?? 0,
    exited,
    kill: (signal) => child.kill(signal),
    close: async () => {
      child.kill("SIGKILL");
      await exited;
    },
  };
};

export const startLlmcHttp = (
  program: string,
  root: string,
  ...args: readonly string[]
): Promise<HttpServer> => start(program, ["serve", "--http", "--port", "0", "--root", root, ...args]);

export const startBareHttp = (): Promise<HttpServer> =>
  start(process.execPath, [fileURLToPath(new URL("../servers/bare-http.mjs", import.meta.url))]);
