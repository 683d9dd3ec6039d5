import { constants, existsSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { mkdtemp, open, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { LlmcError } from "../../src/base/error.ts";
import { isLong, rounds } from "../rounds.ts";
import { createWorkspace } from "../workspace.ts";
import { sandboxes } from "./command-stand.ts";
import { commandTools } from "./command-tools.ts";

const SECONDS = rounds(3, 60);
const OUTSIDE = "only outside";

/** Exchanges a folder with a link as fast as it can, for so many seconds. */
const FLIP = `
import ctypes, time
libc = ctypes.CDLL(None)
end = time.time() + ${SECONDS}
open("work/ready", "w").close()
while time.time() < end:
    libc.renameat2(-100, b"work/d2", -100, b"work/x", 2)
`;

const PROBE = `
import os
for name in ("d2", "x"):
    for file in ("file.txt", ".env", ".envrc", ".llmc/state.db"):
        try: print(open("work/" + name + "/" + file).read())
        except OSError: pass
        try: open("work/" + name + "/" + file, "a").write("!")
        except OSError: pass
`;

/** Whichever of the two names is the folder at the moment: held, it stays the folder. */
const putInFolder = async (root: string, file: string, text: string): Promise<void> => {
  for (;;) {
    const flags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
    const folder = await open(join(root, "work/d2"), flags).catch(() => undefined);
    if (folder === undefined) continue;
    writeFileSync(`/proc/self/fd/${folder.fd}/${file}`, text);
    await folder.close();
    return;
  }
};

/** The age of the kernel changes nothing about mounts and links. */
const tiers = sandboxes.filter(({ maxLandlockAbi }) => maxLandlockAbi === undefined || isLong);

describe.each(tiers)("FAIL-A3 FAIL-J13 folders that are exchanged with links in $name", (setting) => {
  test("commands that start meanwhile work or can be tried again, and reach nothing outside", {
    timeout: SECONDS * 1000 + 60_000,
  }, async () => {
    const outside = await realpath(await mkdtemp(join(tmpdir(), "llmc-outside-")));
    try {
      for (const name of ["file.txt", ".env", ".envrc"]) writeFileSync(join(outside, name), OUTSIDE);
      await using workspace = await createWorkspace({
        "flip.py": FLIP,
        "probe.py": PROBE,
        "work/d2/file.txt": "inside\n",
      });
      symlinkSync(outside, join(workspace.root, "work/x"));
      await using commands = commandTools(setting, workspace.root, {
        allowlist: ["python3"],
        powers: [],
        denylist: ["**/.env"],
        startup: ["**/.envrc"],
      });
      const flipping = commands.use("linux_proc_start", "python3 flip.py");
      while (!existsSync(join(workspace.root, "work/ready"))) await sleep(10);
      // Made by the user now: these are mounts in the sandbox of every later command.
      await putInFolder(workspace.root, ".env", "SECRET=1\n");
      await putInFolder(workspace.root, ".envrc", "true\n");
      const endsAt = performance.now() + SECONDS * 1000 - 1000;
      while (performance.now() < endsAt) {
        const seen = await commands.use("run_cmd", "python3 probe.py").catch((thrown: unknown) => thrown);
        expect(String(seen)).not.toContain(OUTSIDE);
        if (seen instanceof LlmcError) expect(seen).toMatchObject({ code: "busy", retryable: true });
        else expect(seen).toContain('"exit_code":0');
      }
      await flipping;
      expect(await commands.use("run_cmd", "python3 probe.py")).toContain('"exit_code":0');
      const left = readdirSync(outside).toSorted();
      expect(left).toEqual([".env", ".envrc", "file.txt"]);
    } finally {
      await rm(outside, { recursive: true, force: true });
    }
  });
});
