import { z } from "zod";
import { describeUse, processUse, renderUse, shortBytes } from "./process-use.ts";
import { defineTool } from "./tool.ts";

const TOP = 5;

const use = z.object({ total_bytes: z.int(), free_bytes: z.int() });

const usedOf = ({ total_bytes, free_bytes }: z.infer<typeof use>): string =>
  `${shortBytes(total_bytes - free_bytes)} of ${shortBytes(total_bytes)}`;

const days = (seconds: number): string => {
  const [day, hour, minute] = [seconds / 86_400, (seconds / 3600) % 24, (seconds / 60) % 60].map(Math.floor);
  return day === 0 ? `${hour}h ${minute}m` : `${day}d ${hour}h`;
};

export const linuxSysSnapshot = defineTool({
  name: "linux_sys_snapshot",
  description: "Load, memory, disks and busiest processes.",
  effect: "read",
  input: z.strictObject({}),
  output: z.object({
    load: z.array(z.number()),
    cpus: z.int(),
    cpu_percent: z.number(),
    /** Free memory includes what the system can reclaim for programs. */
    memory: use,
    swap: use,
    disks: z.array(use.extend({ path: z.string() })),
    uptime_seconds: z.int(),
    top: z.array(processUse),
  }),
  run: async (_args, { system }, { signal }) => {
    const now = await system.snapshot(TOP, signal);
    return {
      load: [...now.loadAverage],
      cpus: now.cpus,
      cpu_percent: now.cpuPercent,
      memory: { total_bytes: now.memoryTotalBytes, free_bytes: now.memoryAvailableBytes },
      swap: { total_bytes: now.swapTotalBytes, free_bytes: now.swapFreeBytes },
      disks: now.disks.map(({ path, totalBytes, freeBytes }) => ({
        path,
        total_bytes: totalBytes,
        free_bytes: freeBytes,
      })),
      uptime_seconds: now.uptimeSeconds,
      top: now.top.map(describeUse),
    };
  },
  render: ({ load, cpus, cpu_percent, memory, swap, disks, uptime_seconds, top }) =>
    [
      `load ${load.join(" ")}; ${cpus} CPUs ${cpu_percent}% busy; up ${days(uptime_seconds)}`,
      `memory ${usedOf(memory)}${swap.total_bytes === 0 ? "" : `; swap ${usedOf(swap)}`}`,
      ...disks.map((disk) => `disk ${disk.path} ${usedOf(disk)}`),
      ...top.map(renderUse),
    ].join("\n"),
});
