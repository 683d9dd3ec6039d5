import { readdirSync, readFileSync } from "node:fs";

/** Processes below a process whose command line contains a text, by their ids. */
const descendants = (pid: number, text: string): readonly number[] => {
  const parents = new Map<number, number>();
  for (const name of readdirSync("/proc").filter((one) => /^\d+$/.test(one))) {
    try {
      const stat = readFileSync(`/proc/${name}/stat`, "utf8");
      parents.set(Number(name), Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]));
    } catch {
      // It has just ended.
    }
  }
  const isBelow = (one: number): boolean => {
    const parent = parents.get(one);
    return parent !== undefined && (parent === pid || isBelow(parent));
  };
  return [...parents.keys()].filter((one) => {
    try {
      return isBelow(one) && readFileSync(`/proc/${one}/cmdline`, "utf8").includes(text);
    } catch {
      return false;
    }
  });
};

/** The interpreters of analyses and programs. */
export const guestsOf = (pid: number): readonly number[] => descendants(pid, "quickjs-main");
