import { spawn } from "node:child_process";
import { once } from "node:events";
import { PYTHON } from "./command-stand.ts";

const HOLD = `
import fcntl, os, signal, sys
signal.signal(signal.SIGIO, signal.SIG_IGN)
for path in sys.argv[1:]:
    fcntl.fcntl(os.open(path, os.O_RDONLY), fcntl.F_SETLEASE, fcntl.F_WRLCK)
print("held", flush=True)
sys.stdin.read()
`;

/** A program of the user that holds leases on files: until it gives way, nobody else opens them without waiting. */
export const holdLeases = async (...paths: readonly string[]): Promise<AsyncDisposable> => {
  const holder = spawn(PYTHON, ["-c", HOLD, ...paths], { stdio: ["pipe", "pipe", "inherit"] });
  const ended = once(holder, "exit");
  await Promise.race([
    once(holder.stdout, "data"),
    ended.then(() => Promise.reject(new Error("no lease was given"))),
  ]);
  return {
    [Symbol.asyncDispose]: async () => {
      holder.stdin.end();
      await ended;
    },
  };
};
