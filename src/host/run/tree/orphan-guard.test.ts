import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, it, onTestFinished } from "vitest";
import { identify, isAlive, untilTrue } from "./process-scan.ts";

/** A server with one command; it kills its guard, and says when there is another. */
const SERVER = `
  const { spawn } = await import("node:child_process");
  const { readdirSync, readFileSync } = await import("node:fs");
  const { setTimeout: sleep } = await import("node:timers/promises");
  const { createOrphanGuard } = await import(process.argv[1]);
  const isGuard = (pid) => {
    try {
      const parent = readFileSync("/proc/" + pid + "/stat", "utf8").split(") ")[1].split(" ")[1];
      return parent === String(process.pid) && readFileSync("/proc/" + pid + "/cmdline", "utf8").includes("orphan-guard-main");
    } catch { return false; }
  };
  const guard = async () => {
    for (;;) {
      const found = readdirSync("/proc").find((name) => /^[0-9]+$/.test(name) && isGuard(name));
      if (found !== undefined) return Number(found);
      await sleep(20);
    }
  };
  const child = spawn("sleep", ["60"], { detached: true, stdio: "ignore" });
  createOrphanGuard().watch({ hasNamespace: false, child, mark: { id: "none", realtimeLimit: "none" } });
  const first = await guard();
  process.kill(first, "SIGKILL");
  while (isGuard(first)) await sleep(20);
  await guard();
  console.log(child.pid);
  setInterval(() => {}, 1000);
`;

it("FAIL-D7: a guard that was killed is replaced, and the next one knows what runs", {
  timeout: 60_000,
}, async () => {
  const file = join(import.meta.dirname, "orphan-guard.ts");
  const server = spawn(process.execPath, ["--input-type=module", "-e", SERVER, file], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void server.kill("SIGKILL"));
  const [line] = await once(createInterface({ input: server.stdout }), "line");
  const command = identify(Number(line));
  if (command === undefined) throw new Error("the command does not run");
  onTestFinished(() => {
    if (isAlive(command)) process.kill(command.pid, "SIGKILL");
  });
  server.kill("SIGKILL");
  for (let tries = 0; tries < 6 && isAlive(command); tries++) await untilTrue(() => !isAlive(command));
  expect(isAlive(command)).toBe(false);
});
