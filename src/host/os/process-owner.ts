import { readFileSync, readlinkSync } from "node:fs";
import { systemErrorCode } from "../../base/system-error.ts";
import { hasEnded, readProcStat } from "./proc-stat.ts";

/** The identity of a process: a later one may get the same number. */
export interface Owner {
  readonly pid: number;
  /** Start time, machine boot and PID namespace, as `ticks@boot/namespace`. */
  readonly birth: string;
}

const tryRead = (path: string): string | undefined => {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
};

const readScope = (): string => {
  try {
    const boot = tryRead("/proc/sys/kernel/random/boot_id")?.trim() ?? "";
    return `${boot}/${readlinkSync("/proc/self/ns/pid")}`;
  } catch {
    return "/";
  }
};

const isNobody = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    // EPERM also means that the process exists.
    return systemErrorCode(error) === "ESRCH";
  }
};

export type Owners = ReturnType<typeof createOwners>;

export const createOwners = (pid: number) => {
  let scope: string | undefined;
  let self: Owner | undefined;
  const ownScope = (): string => {
    scope ??= readScope();
    return scope;
  };
  return {
    self: (): Owner => {
      self ??= { pid, birth: `${readProcStat(pid)?.startedAt ?? ""}@${ownScope()}` };
      return self;
    },
    /** True only where it is certain: processes of other containers or of another boot cannot be seen from here. */
    isGone: (owner: Owner): boolean => {
      const at = owner.birth.indexOf("@");
      if (owner.birth.slice(at + 1) !== ownScope() || !Number.isSafeInteger(owner.pid) || owner.pid <= 0)
        return false;
      const stat = readProcStat(owner.pid);
      if (stat === undefined) return isNobody(owner.pid);
      return stat.startedAt !== owner.birth.slice(0, at) || hasEnded(stat);
    },
  };
};
