import { openSync, readdirSync, rmSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { createWorkspace } from "../workspace.ts";
import { ofThisKernel, runnerOf } from "./command-stand.ts";

const openDescriptors = (): number => readdirSync("/proc/self/fd").length;

const nothing = (): readonly [number, number, number] => {
  const open = (): number => openSync("/dev/null", "r+");
  return [open(), open(), open()];
};

describe.each(ofThisKernel)("FAIL-D6 a start that fails in $name", (setting) => {
  test.each(["too long an argument", "a folder that is gone"])(
    "%s leaves no descriptor open",
    async (what) => {
      await using workspace = await createWorkspace({ "work/x": "" });
      const runner = runnerOf(setting);
      const profile = { writable: [workspace.root], protectedInside: [], hidden: [], network: false };
      const cwd = `${workspace.root}/work`;
      const start = async (): Promise<void> => {
        const argument = what.startsWith("too long") ? "x".repeat(300_000) : "x";
        const request = {
          argv: ["/bin/echo", argument],
          cwd,
          timeoutMs: 5000,
        } as const;
        const started = await runner.start({ request, profile }, () => {
          if (argument === "x") rmSync(cwd, { recursive: true });
          return nothing();
        });
        // Where the launcher itself starts, it tells what was wrong.
        await started.tree.exited;
        await started.tree.sweep();
        await started.finish();
      };
      await start().catch(() => {});
      const before = openDescriptors();
      for (let round = 0; round < 5; round++) await start().catch(() => {});
      expect(openDescriptors()).toBeLessThanOrEqual(before);
    },
  );
});
