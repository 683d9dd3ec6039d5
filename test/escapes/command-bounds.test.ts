import { lstatSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { SandboxProfile } from "../../src/host/run/tiers/contract.ts";
import type { CommandGroups } from "../../src/host/run/tree/cgroup.ts";
import { createCommandGroups } from "../../src/host/run/tree/cgroup.ts";
import { createWorkspace } from "../workspace.ts";
import { ofThisKernel, PYTHON, runnerOf, runOne, type Setting } from "./command-stand.ts";

const MIB = 1024 * 1024;
const LIMITS = { memoryBytes: 256 * MIB, processes: 40, fileBytes: 8 * MIB };
const NO_GROUPS: CommandGroups = { works: false, open: () => undefined };

const ways: readonly { readonly name: string; readonly groups: CommandGroups }[] = [
  ...(createCommandGroups().works ? [{ name: "control groups", groups: createCommandGroups() }] : []),
  { name: "limits and a watcher", groups: NO_GROUPS },
];

const runIn = async (setting: Setting, groups: CommandGroups, script: string) => {
  await using workspace = await createWorkspace({ "a.txt": "" });
  const runner = runnerOf(setting, groups);
  const profile: SandboxProfile = {
    writable: [workspace.root],
    protectedInside: [],
    hidden: [],
    network: false,
    limits: LIMITS,
  };
  const request = { argv: [PYTHON, "-c", script], cwd: workspace.root, timeoutMs: 50_000 } as const;
  const outcome = await runOne(runner, request, profile);
  const special = lstatSync(join(workspace.root, "special"), { throwIfNoEntry: false });
  return { ...outcome, special };
};

/** Every page is touched; several processes share the work, so that no limit of a single one helps. */
const EAT = `
import os, time
for _ in range(4):
    if os.fork() == 0:
        kept = []
        try:
            for _ in range(40): kept.append(bytearray(os.urandom(1)) * (8 * 1024 * 1024))
        except MemoryError: pass
        time.sleep(1)
        os._exit(0)
failed = 0
for _ in range(4):
    failed += os.wait()[1] != 0
print("all lived" if failed == 0 else "some died")
`;

const FORK = `
import os, time
made = 0
try:
    while made < 400:
        if os.fork() == 0:
            time.sleep(15)
            os._exit(0)
        made += 1
except OSError: pass
print("made", made)
time.sleep(2)
`;

describe.each(ofThisKernel)("FAIL-J10 REQ-X10 in $name", (setting) => {
  describe.each(ways)("with $name", ({ groups }) => {
    test("memory is bounded over all processes of a command", async () => {
      const { text, limit } = await runIn(setting, groups, EAT);
      expect(text).not.toContain("all lived");
      expect(limit).toBe("memory");
    });

    test("processes are bounded", async () => {
      const { text, durationMs, limit } = await runIn(setting, groups, FORK);
      expect(text).not.toContain("made 400\n[");
      expect(limit ?? text).toMatch(/processes|memory|made \d{1,2}$/m);
      expect(durationMs).toBeLessThan(15_000);
    });
  });

  test("a file grows no larger than allowed, and gets no special bits", async () => {
    const script = `
import os
try:
    with open("big", "wb") as out:
        for _ in range(64): out.write(b"x" * 1024 * 1024)
except OSError as error: print("stopped", error.errno)
print(os.path.getsize("big"))
open("special", "w").close()
for mode in (0o4755, 0o2755):
    try: os.chmod("special", mode); print("special bits")
    except OSError: pass
try: os.open("special2", os.O_CREAT | os.O_WRONLY, 0o4755); print("special bits" if os.stat("special2").st_mode & 0o6000 else "")
except OSError: pass
`;
    const { text, special } = await runIn(setting, NO_GROUPS, script);
    expect(text).toContain(String(LIMITS.fileBytes));
    // Nothing holds an interpreter on the plain tier: SECURITY.md says so.
    if (setting.tier !== "plain") {
      expect(text).not.toContain("special bits");
      expect((special?.mode ?? 0) & 0o6000).toBe(0);
    }
  });
});

describe.each(ofThisKernel.filter(({ tier }) => tier !== "plain"))("FAIL-J10 in $name", (setting) => {
  test("no file system in memory can be filled beyond its bound", async () => {
    const script = `
import os
for folder in ("/", "/etc", "/dev", "/dev/shm", "/tmp", "/run", "/var", "/proc", "/sys", os.environ["HOME"]):
    total = 0
    try:
        for part in range(64):
            with open(os.path.join(folder, "fill%d" % part), "wb") as out: out.write(b"x" * (4 * 1024 * 1024))
            total += 4
    except OSError: pass
    if total > 128: print("filled", folder, total)
`;
    const { text } = await runIn(setting, NO_GROUPS, script);
    // Without namespaces, home and temporary files are on the disk, as the workspace is.
    const bounded = setting.tier === "bubblewrap" ? /filled/ : /filled (?!\/tmp)/;
    expect(text).not.toMatch(bounded);
  });

  test("socket families that no command needs are refused", async () => {
    const script = `
import socket
for family in (3, 5, 9, 17, 29, 30, 31, 38, 40, 44):
    try: socket.socket(family, socket.SOCK_RAW if family == 17 else socket.SOCK_STREAM); print("opened", family)
    except OSError: pass
`;
    const { text } = await runIn(setting, NO_GROUPS, script);
    expect(text).not.toContain("opened");
  });
});
