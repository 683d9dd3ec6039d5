import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { removeRefused } from "../../src/host/run/scan/refused-names.ts";
import { tempWorkspace } from "../app.ts";

/**
 * Waits until the removal has begun, and exchanges (RENAME_EXCHANGE) every folder that is left for a link to the folder
 * outside: whoever listed it before and goes on by its path removes what is there.
 */
const HOSTILE = `
import ctypes, os, sys
target, name, count = sys.argv[1], "x.refused-0123abcd", 220
libc = ctypes.CDLL(None)
def exchange(one, other): return libc.renameat2(-100, one.encode(), -100, other.encode(), 2) == 0
os.mkdir(name); os.mkdir("links")
for i in range(count):
    os.mkdir(f"{name}/d{i:03}"); open(f"{name}/d{i:03}/f", "w").close(); os.symlink(target, f"links/{i:03}")
for i in range(20): os.mkdir(f"{name}/e{i:03}")
before = os.stat(name).st_mtime_ns
print("ready", flush=True)
try:
    while os.stat(name).st_mtime_ns == before: pass
    print(sum(exchange(f"{name}/d{i:03}", f"links/{i:03}") for i in range(count - 1, -1, -1)), flush=True)
except FileNotFoundError: print(0, flush=True)
`;

test("FAIL-A1 REQ-D16 removing what was renamed never leaves it, whatever a living program exchanges", async () => {
  let exchanged = 0;
  for (let round = 0; round < 5; round++) {
    const outside = tempWorkspace({ "thesis.txt": "precious\n", "deep/more.txt": "precious\n" });
    const root = tempWorkspace();
    writeFileSync(join(root, "hostile.py"), HOSTILE);
    const program = spawn("python3", ["hostile.py", outside], {
      cwd: root,
      stdio: ["ignore", "pipe", "inherit"],
    });
    const ended = once(program, "exit");
    let printed = "";
    program.stdout.on("data", (chunk: Buffer) => {
      printed += chunk.toString();
    });
    while (!printed.includes("ready")) await once(program.stdout, "data");
    await removeRefused(root, join(root, "x.refused-0123abcd"));
    await ended;
    exchanged += Number(printed.split("\n")[1] ?? 0);
    expect(existsSync(join(root, "x.refused-0123abcd"))).toBe(false);
    expect(readdirSync(outside).toSorted()).toEqual(["deep", "thesis.txt"]);
    expect(readdirSync(join(outside, "deep"))).toEqual(["more.txt"]);
  }
  // Otherwise nothing was tried.
  expect(exchanged).toBeGreaterThan(0);
});
