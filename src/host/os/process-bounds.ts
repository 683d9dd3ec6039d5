import { readdirSync, readFileSync } from "node:fs";

interface GrowthLimits {
  readonly maxResidentMb: number;
  readonly maxDescriptors: number;
}

/** Whether a process holds more memory or descriptors than it should; false where nothing can be said. */
export const hasGrown = (pid: number, { maxResidentMb, maxDescriptors }: GrowthLimits): boolean => {
  try {
    const status = readFileSync(`/proc/${pid}/status`, "utf8");
    const residentKb = Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1] ?? 0);
    return residentKb / 1024 > maxResidentMb || readdirSync(`/proc/${pid}/fd`).length > maxDescriptors;
  } catch {
    return false;
  }
};
