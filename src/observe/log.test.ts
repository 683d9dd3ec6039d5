import { describe, expect, test } from "vitest";
import { createLog, type LogSettings } from "./log.ts";

const open = (settings: Partial<LogSettings> = {}) => {
  const writes: string[] = [];
  const log = createLog(
    { level: "info", format: "json", ...settings },
    { write: (text) => writes.push(text) },
  );
  const lines = async (): Promise<Record<string, unknown>[]> => {
    await log.flush();
    return writes
      .join("")
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line));
  };
  return { log, writes, lines };
};

describe("REQ-O2: the log", () => {
  test("loses no line of a flood, keeps their order, and writes them together", async () => {
    const { log, lines, writes } = open();
    for (let i = 0; i < 2000; i++) log.info({ i }, "line");
    log.warn({ i: 2000 }, "line");
    const printed = await lines();
    expect(printed.map(({ i }) => i)).toEqual(Array.from({ length: 2001 }, (_, i) => i));
    expect(writes.length).toBeLessThan(5);
  });

  test("prints a flood, and a warning, without being asked", async () => {
    const flood = open();
    for (let i = 0; i < 300; i++) flood.log.info({}, "line");
    const warned = open();
    warned.log.info({}, "line");
    warned.log.warn({}, "warning");
    await expect.poll(() => flood.writes.length, { interval: 1 }).toBeGreaterThan(0);
    await expect.poll(() => warned.writes.join(""), { interval: 1 }).toContain("warning");
    warned.log.info({}, "later");
    await expect.poll(() => warned.writes.join(""), { interval: 1 }).toContain("later");
  });

  test("a line has its level, then the time at which it was noted, then its fields", async () => {
    const { log, writes, lines } = open();
    const before = Date.now();
    log.info(() => ({ a: 1, token: "s3cret" }), "hello");
    const [line] = await lines();
    expect(writes.join("")).toMatch(
      /^\{"level":"info","time":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z","a":1,"token":"\[redacted\]","msg":"hello"\}\n$/,
    );
    const time = Date.parse(String(line?.["time"]));
    expect(time).toBeGreaterThanOrEqual(before);
    expect(time).toBeLessThanOrEqual(Date.now());
  });

  test("lines of different moments have different times", async () => {
    const { log, lines } = open();
    log.info({}, "one");
    const at = Date.now();
    await expect.poll(() => Date.now() - at, { interval: 1 }).toBeGreaterThan(2);
    log.info({}, "two");
    const [one, two] = await lines();
    expect(Date.parse(String(two?.["time"]))).toBeGreaterThan(Date.parse(String(one?.["time"])));
  });

  test.each([
    ["trace", ["debug", "info", "warn", "error"]],
    ["debug", ["debug", "info", "warn", "error"]],
    ["info", ["info", "warn", "error"]],
    ["warn", ["warn", "error"]],
    ["error", ["error"]],
    ["silent", []],
  ])("at %s it prints %j, and the level is hot", async (level, printed) => {
    const { log, lines } = open({ level: level === "silent" ? "trace" : "silent" });
    log.configure({ level, format: "json" });
    for (const each of ["debug", "info", "warn", "error"] as const) log[each]({}, each);
    expect((await lines()).map(({ msg }) => msg)).toEqual(printed);
  });
});
