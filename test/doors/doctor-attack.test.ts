import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { cleanEnv, createWorkspace, launcher } from "../workspace.ts";

const run = (root: string, ...args: readonly string[]) =>
  new Promise<{
    readonly code: number;
    readonly report: {
      healthy: boolean;
      findings: readonly { name: string; state: string; detail: string }[];
    };
  }>((resolve) => {
    execFile(
      launcher,
      ["doctor", "--attack", "--json", "--root", root, ...args],
      { env: cleanEnv() },
      (error, stdout) =>
        resolve({ code: typeof error?.code === "number" ? error.code : 0, report: JSON.parse(stdout) }),
    );
  });

describe("REQ-X10 REQ-D12: llmc doctor --attack", () => {
  test("finds that everything holds where there is a sandbox", async () => {
    await using workspace = await createWorkspace({ "a.txt": "" });
    const { report } = await run(workspace.root);
    const held = report.findings.filter(
      ({ name }) =>
        name.startsWith("a client ") || name.includes("hostile program") || name === "state of the disk",
    );
    expect(held.length).toBeGreaterThan(15);
    expect(held.filter(({ state }) => state !== "good")).toEqual([]);
  });

  test("says what does not hold where there is none, and leaves nothing behind", async () => {
    await using workspace = await createWorkspace({ "a.txt": "" });
    const { code, report } = await run(workspace.root, "--set", "mcp.tools.command_sandbox=off");
    expect(code).not.toBe(0);
    expect(report.healthy).toBe(false);
    const program = report.findings.find(({ name }) => name.includes("hostile program"));
    expect(program?.detail).toMatch(/NOT STOPPED: .*reads a file outside.*reaches the network/);
    expect(["/llmc-practice", "/etc/llmc-practice"].filter(existsSync)).toEqual([]);
  });
});
