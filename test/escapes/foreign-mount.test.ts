import { spawn } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createMountCheck } from "../../src/host/reach/mounts.ts";
import { createReach } from "../../src/host/reach/reach.ts";
import { createFiles } from "../../src/host/read/files.ts";

/** Another process sees `from` at the place of `to`; its pid, or undefined where the machine has no such namespaces. */
const mountElsewhere = async (
  from: string,
  to: string,
  started: (pid: number) => Promise<void>,
): Promise<boolean> => {
  const script = 'mount --bind "$1" "$2" && echo ready && exec sleep 60';
  const child = spawn("unshare", ["--mount", "--map-root-user", "sh", "-c", script, "sh", from, to], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  const ended = new Promise<void>((resolve) =>
    child.once("close", () => resolve()).once("error", () => resolve()),
  );
  const ready = await Promise.race([
    new Promise<boolean>((resolve) => child.stdout.once("data", () => resolve(true))),
    ended.then(() => false),
  ]);
  try {
    if (ready && child.pid !== undefined) await started(child.pid);
  } finally {
    child.kill("SIGKILL");
    await ended;
  }
  return ready;
};

it("FAIL-A3 refuses a link into another mount namespace whose paths look like ours", async () => {
  const base = mkdtempSync(join(tmpdir(), "llmc-mount-"));
  const workspace = join(base, "workspace");
  mkdirSync(join(workspace, "dir"), { recursive: true });
  mkdirSync(join(base, "outside"));
  writeFileSync(join(base, "outside/file"), "OUTSIDE");
  try {
    const files = createFiles(createReach({ workspace, roots: () => ["."], denylist: () => [] }));
    await mountElsewhere(join(base, "outside"), join(workspace, "dir"), async (pid) => {
      const target = `/proc/${pid}/root${join(workspace, "dir")}`;
      symlinkSync(target, join(workspace, "link"));
      // The machine lets this process see it, so that the refusal is ours.
      expect(readFileSync(join(workspace, "link/file"), "utf8")).toBe("OUTSIDE");
      const request = { offsetLines: 0, maxLines: 1, maxBytes: 100 };
      await expect(files.readText("link/file", request)).rejects.toMatchObject({ code: "path_denied" });
      await expect(files.readText("link/missing", request)).rejects.toMatchObject({ code: "path_denied" });
      await expect(files.list("link")).rejects.toMatchObject({ code: "path_denied" });
      await expect(files.stat("link/file")).rejects.toMatchObject({ code: "path_denied" });
    });
  } finally {
    rmSync(base, { recursive: true, force: true });
  }
  if (existsSync("/proc/self/mountinfo")) expect(createMountCheck()("999999999")).toBe(false);
});
