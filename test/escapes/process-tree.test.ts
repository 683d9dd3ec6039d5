import { spawn } from "node:child_process";
import { readdirSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { rounds } from "../rounds.ts";
import { cleanEnv, createWorkspace } from "../workspace.ts";
import { casesIn, processesWith, settings } from "./command-stand.ts";
import { flooding, hostile, OWNER, processesIn } from "./process-stand.ts";

let lastTag = 0;
/** A number of seconds that no other process sleeps: it finds ours again in the process list. */
const newTag = (): string => `7${process.pid}.${String(lastTag++).padStart(4, "0")}`;

const descriptors = (): number => readdirSync("/proc/self/fd").length;

const untilGone = async (tag: string): Promise<readonly number[]> => {
  for (let round = 0; round < 100 && processesWith(tag).length > 0; round++) await sleep(100);
  return processesWith(tag);
};

const tiers = settings.filter(({ maxLandlockAbi }) => maxLandlockAbi === undefined);

describe.each(tiers)("a process in $name", (setting) => {
  const { tier } = setting;
  test("FAIL-C5: daemons, deafness and floods are gone after stop and kill, round after round", async () => {
    await using workspace = await createWorkspace();
    const { processes, close } = processesIn(tier, workspace.root);
    const resident: number[] = [];
    let before = 0;
    const many = rounds(3, 100);
    for (let round = 0; round < many; round++) {
      const tag = newTag();
      const pty = round % 2 === 1;
      const started = await processes.start({ command: hostile(tag), cwd: undefined, pty }, OWNER, 0);
      expect(started).toMatchObject({ state: "running", tier });
      await flooding(processes, started.id);
      if (round % 3 === 0) {
        const { reason, signal, state } = await processes.stop(started.id, OWNER);
        expect([state, reason, signal]).toEqual(["ended", "stopped", "SIGKILL"]);
      } else {
        await processes.kill({ id: started.id }, "SIGKILL", OWNER);
      }
      expect(processesWith(tag)).toEqual([]);
      const { text, lostBytes } = await processes.read(started.id, { from: 0, waitMs: 0 }, OWNER);
      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(540_000);
      expect(lostBytes).toBeGreaterThanOrEqual(0);
      if (round === 1) before = descriptors();
      resident.push(process.memoryUsage().rss);
    }
    await close();
    expect(descriptors()).toBeLessThanOrEqual(before + 1);
    const growth = (resident.at(-1) ?? 0) - (resident[Math.floor(many / 2)] ?? 0);
    expect(growth).toBeLessThan(60 * 1024 * 1024);
  }, 600_000);

  test("FAIL-C5: a process without a terminal finds none, and one with a terminal finds its own", async () => {
    await using workspace = await createWorkspace();
    const { processes, close } = processesIn(tier, workspace.root);
    const command = "(echo hi > /dev/tty) 2>/dev/null && echo has-tty || echo no-tty; stty size 2>/dev/null";
    const without = await processes.start({ command, cwd: undefined, pty: false }, OWNER, 10_000);
    expect(without.text).toBe("no-tty\n");
    const withOne = await processes.start({ command, cwd: undefined, pty: true }, OWNER, 10_000);
    expect(withOne.text).toBe("hi\nhas-tty\n40 160\n");
    await close();
  });

  if (tier !== "plain") {
    test("FAIL-C3 REQ-X10: what lies outside is as far away as for a command", async () => {
      await using workspace = await createWorkspace();
      await using outside = await createWorkspace({ secret: "planted-secret-5c1d" });
      const { processes, close } = processesIn(tier, workspace.root);
      for (const pty of [false, true]) {
        const command = `cat ${outside.root}/secret; echo x > ${outside.root}/new; kill -9 ${process.pid}; echo done`;
        const { text } = await processes.start({ command, cwd: undefined, pty }, OWNER, 10_000);
        expect(text).not.toContain("planted-secret");
        expect(text).toContain("done");
      }
      expect(readdirSync(outside.root)).toEqual(["secret"]);
      await close();
    });
  }

  test("FAIL-D7: a server that is killed takes its processes with it", async () => {
    await using workspace = await createWorkspace();
    for (const kind of casesIn(setting, ["pipe", "pty"])) {
      const tag = newTag();
      const script = join(import.meta.dirname, "process-victim.ts");
      const victim = spawn(process.execPath, [script, tier, workspace.root, tag, kind], {
        env: cleanEnv(),
        stdio: ["ignore", "pipe", "ignore"],
      });
      try {
        await new Promise((resolve) => victim.stdout.once("data", resolve));
        expect(processesWith(tag).length).toBeGreaterThan(3);
      } finally {
        victim.kill("SIGKILL");
      }
      expect(await untilGone(tag)).toEqual([]);
    }
  }, 60_000);
});

describe("the processes of a running server", () => {
  const args = [
    "--mode",
    "classic",
    "--set",
    "mcp.tools.run_cmd_allowlist=sh",
    "--set",
    "mcp.tools.command_powers=sh:run",
  ];

  test.each(["SIGTERM", "end of input", "SIGKILL"])(
    "FAIL-D7: end with it at %s",
    async (way) => {
      await using workspace = await createWorkspace();
      const tag = newTag();
      await writeFile(join(workspace.root, "hostile.sh"), hostile(tag));
      const server = await workspace.start({ args });
      const started = await server.call("linux_proc_start", { command: "sh hostile.sh", wait_ms: 100 });
      expect(started.isError).not.toBe(true);
      await expect.poll(() => processesWith(tag).length).toBeGreaterThan(4);
      // A call that waits does not hold the end up.
      server.askTool("linux_proc_read", {
        proc_id: started.structuredContent?.["proc_id"],
        from: 1e15,
        wait_ms: 30_000,
      });
      if (way === "end of input") server.process.stdin.end();
      else server.process.kill(way as NodeJS.Signals);
      await server.exited;
      expect(await untilGone(tag)).toEqual([]);
    },
    60_000,
  );
});
