import { z } from "zod";
import { showControls } from "../base/text.ts";
import type { Ports } from "./tool.ts";

type ProcessUse = Awaited<ReturnType<Ports["system"]["top"]>>[number];

export const processUse = z.object({
  pid: z.int(),
  name: z.string(),
  /** Of one CPU. */
  cpu_percent: z.number(),
  memory_bytes: z.int(),
});

export const describeUse = ({
  pid,
  name,
  cpuPercent,
  memoryBytes,
}: ProcessUse): z.infer<typeof processUse> => ({
  pid,
  name,
  cpu_percent: cpuPercent,
  memory_bytes: memoryBytes,
});

const UNITS = ["B", "K", "M", "G", "T"] as const;

/** Two or three digits and a unit of 1024. */
export const shortBytes = (bytes: number): string => {
  let size = bytes;
  let unit = 0;
  for (; size >= 1000 && unit < UNITS.length - 1; unit++) size /= 1024;
  return `${size < 10 && unit > 0 ? size.toFixed(1) : Math.round(size)}${UNITS[unit]}`;
};

export const renderUse = ({ pid, name, cpu_percent, memory_bytes }: z.infer<typeof processUse>): string =>
  `${pid} ${showControls(name)} ${cpu_percent}% ${shortBytes(memory_bytes)}`;
