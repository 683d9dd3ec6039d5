import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createWorkspace } from "../../../../test/workspace.ts";
import { limitReached } from "./group-events.ts";

const eventOf = async (
  version: 1 | 2,
  files: Readonly<Record<string, string>>,
): Promise<string | undefined> => {
  await using workspace = await createWorkspace({ "group/x": "", ...files });
  const group = join(workspace.root, "group");
  return limitReached({ version, memory: group, pids: group }, { memoryBytes: 1000, processes: 40 });
};

describe("FAIL-J10 what a control group tells of its bounds", () => {
  test.each([
    ["nothing happened", 2, { "pids.events": "max 0\n", "pids.peak": "3\n" }, undefined],
    ["its own bound", 2, { "pids.events": "max 7\n", "pids.peak": "40\n" }, "processes"],
    ["a bound above", 2, { "pids.events": "max 1\n", "pids.peak": "12\n" }, undefined],
    ["a bound above, told apart", 2, { "pids.events.local": "max 0\n", "pids.events": "max 1\n" }, undefined],
    ["an old kernel", 1, { "pids.events": "max 1\n" }, "processes"],
    ["out of memory", 2, { "memory.events": "low 0\noom 2\noom_kill 1\n" }, "memory"],
    ["the machine is out of memory", 2, { "memory.events": "oom 0\noom_kill 1\n" }, undefined],
    [
      "out of memory, old",
      1,
      { "memory.oom_control": "oom_kill 1\n", "memory.max_usage_in_bytes": "990\n" },
      "memory",
    ],
    [
      "the machine, old",
      1,
      { "memory.oom_control": "oom_kill 1\n", "memory.max_usage_in_bytes": "9\n" },
      undefined,
    ],
    [
      "only reclaimed, old",
      1,
      { "memory.oom_control": "oom_kill 0\n", "memory.max_usage_in_bytes": "990\n" },
      undefined,
    ],
  ] as const)("%s", async (_, version, files, expected) => {
    const inGroup = Object.fromEntries(Object.entries(files).map(([name, text]) => [`group/${name}`, text]));
    expect(await eventOf(version, inGroup)).toBe(expected);
  });

  test("an old kernel, where a group above is bounded as well", async () => {
    expect(await eventOf(1, { "group/pids.events": "max 1\n", "pids.max": "100\n" })).toBeUndefined();
  });
});
