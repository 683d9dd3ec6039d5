import { describe, expect, test } from "vitest";
import { groupParents } from "./resource-groups.ts";

const V1 = [
  "tmpfs /sys/fs/cgroup tmpfs rw 0 0",
  "cgroup /sys/fs/cgroup/memory cgroup rw,memory 0 0",
  "cgroup /sys/fs/cgroup/cpu,cpuacct cgroup rw,cpu,cpuacct 0 0",
].join("\n");
const V2 = "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0";
const USER = "0::/user.slice/user-1000.slice/user@1000.service/app.slice/editor.scope\n";

const readNothing = (): string => "";

describe("REQ-I1 where a control group can be made", () => {
  test("version 1: in our own group of each hierarchy", () => {
    const groups = "4:memory:/service\n3:cpu,cpuacct:/service/deep\n0::/\n";
    expect(groupParents("memory", V1, groups, readNothing, true)).toEqual([
      { version: 1, folder: "/sys/fs/cgroup/memory/service" },
    ]);
    expect(groupParents("cpu", V1, groups, readNothing, true)).toEqual([
      { version: 1, folder: "/sys/fs/cgroup/cpu,cpuacct/service/deep" },
    ]);
  });

  test("version 2, an ordinary user: beside our own group, in the nearest that hands the controller down", () => {
    const control = (path: string): string => (path.includes("editor.scope") ? "" : "cpu memory pids\n");
    const parents = groupParents("memory", V2, USER, control, false).map(({ folder }) => folder);
    expect(parents[0]).toBe("/sys/fs/cgroup/user.slice/user-1000.slice/user@1000.service/app.slice");
    expect(parents.at(-1)).toBe("/sys/fs/cgroup");
  });

  test("version 2, root: never above our own group, whose limits hold for the front too", () => {
    const control = (path: string): string =>
      path === "/sys/fs/cgroup/cgroup.subtree_control" ? "cpu memory" : "";
    expect(groupParents("memory", V2, "0::/system.slice/llmc.service\n", control, true)).toEqual([]);
  });

  test("no hierarchy has the controller: nowhere", () => {
    expect(groupParents("memory", V2, "0::/\n", () => "pids", false)).toEqual([]);
    expect(groupParents("cpu", "", "", readNothing, false)).toEqual([]);
  });
});
