import { expect, test } from "vitest";
import { openTestApp } from "../../test/app.ts";

test("REQ-T9: linux_sys_snapshot tells load, memory, disks of the roots and the busiest processes", async () => {
  const app = await openTestApp({ overrides: { "mcp.mode": "classic" } });
  const result = await app.ask("linux_sys_snapshot", {});
  expect(result).toMatchObject({
    kind: "ok",
    structured: {
      load: [expect.any(Number), expect.any(Number), expect.any(Number)],
      disks: [{ path: ".", total_bytes: expect.any(Number) }],
    },
  });
  const { memory, cpus, top } = (
    result as {
      structured: {
        memory: { total_bytes: number; free_bytes: number };
        cpus: number;
        top: { pid: number; memory_bytes: number }[];
      };
    }
  ).structured;
  expect(cpus).toBeGreaterThan(0);
  expect(memory.total_bytes).toBeGreaterThan(memory.free_bytes);
  expect(top.length).toBe(5);
  const text = await app.text("linux_sys_snapshot");
  expect(text).toMatch(/^load [\d.]+ [\d.]+ [\d.]+; \d+ CPUs \d+% busy; up .*\nmemory \S+ of \S+/);
  expect(text).toMatch(/\ndisk \. \S+ of \S+\n/);
  expect(text.length).toBeLessThan(400);
});

test("REQ-T9: linux_proc_list shows the machine's busiest processes where asked, by name alone", async () => {
  const app = await openTestApp({ overrides: { "mcp.mode": "classic" } });
  const text = await app.text("linux_proc_list", { top: 3 });
  expect(text).toMatch(/^\[none\]\n\n(\d+ .+ \d+% \S+\n){2}\d+ .+ \d+% \S+$/);
  expect(await app.errorCode("linux_sys_snapshot", { verbose: true })).toBe("INVALID_ARGS");
});
