import { spawn } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { findRipgrep, type RipgrepRun, runRipgrep } from "./ripgrep.ts";

let dir: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "llmc-rg-"));
});

afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(dir, { recursive: true, force: true });
});

const script = (text: string): string => {
  const path = join(dir, "program");
  writeFileSync(path, `#!/bin/sh\n${text}\n`);
  chmodSync(path, 0o755);
  return path;
};

const run = async (changes: Partial<RipgrepRun>) => {
  const chunks: Buffer[] = [];
  const end = await runRipgrep({
    rgPath: await findRipgrep(),
    args: [],
    cwd: dir,
    timeoutMs: 10_000,
    signal: undefined,
    take: (chunk) => chunks.push(chunk),
    ...changes,
  });
  return { ...end, stdout: Buffer.concat(chunks).toString() };
};

const commandLines = (): string[] =>
  readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
      } catch {
        return "";
      }
    });

it("FAIL-C4 nothing of our environment reaches it, and no configuration file", async () => {
  writeFileSync(join(dir, "rc"), "--pre=/bin/false\n");
  vi.stubEnv("RIPGREP_CONFIG_PATH", join(dir, "rc"));
  vi.stubEnv("API_KEY", "MARKER");
  const { stdout } = await run({ rgPath: script("env") });
  expect(stdout).not.toMatch(/MARKER|RIPGREP|HOME=|PATH=/);
  expect(await run({ args: ["--files", "./"] })).toMatchObject({
    code: 0,
    stdout: expect.stringContaining("./rc"),
  });
});

it("gives what it complains about, and not without bounds", async () => {
  expect(await run({ args: ["--regexp=(", "./"] })).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("unclosed group"),
  });
  const { stderr } = await run({ rgPath: script("yes complaint | head -c 1000000 >&2; exit 2") });
  expect(stderr.length).toBeLessThanOrEqual(32 * 1024);
});

it("FAIL-D5 is killed when time is up", async () => {
  const start = performance.now();
  expect(await run({ rgPath: script("echo first\nexec sleep 777.1"), timeoutMs: 200 })).toMatchObject({
    code: null,
    stdout: "first\n",
  });
  expect(performance.now() - start).toBeLessThan(2000);
});

it("an error of the reader ends it too", async () => {
  const rgPath = script("echo first\nexec sleep 777.2");
  const take = (): void => {
    throw new Error("enough");
  };
  await expect(run({ rgPath, take })).rejects.toThrow("enough");
  await expect.poll(() => commandLines().filter((line) => line.includes("777.2"))).toEqual([]);
});

it.runIf(existsSync("/proc/self/cmdline"))("FAIL-D5 does not outlive us", async () => {
  const rgPath = script("exec sleep 777.3");
  const module = fileURLToPath(new URL("./ripgrep.ts", import.meta.url));
  const program = `
    const { runRipgrep } = await import(${JSON.stringify(module)});
    setTimeout(() => process.exit(3), 300);
    await runRipgrep({ rgPath: ${JSON.stringify(rgPath)}, args: [], cwd: "/", timeoutMs: 60000, take: () => {} });`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", program], { stdio: "inherit" });
  expect(await new Promise((resolve) => child.once("exit", resolve))).toBe(3);
  await expect.poll(() => commandLines().filter((line) => line.includes("777.3"))).toEqual([]);
});
