import { appendFileSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test, vi } from "vitest";
import { openTestApp } from "../../test/app.ts";

/** A backend of a custom module: it hangs, fails or works as a file says, and notes what it did. */
const MODULE = `
import { appendFileSync, existsSync, readFileSync } from "node:fs";
const folder = new URL("../", import.meta.url);
export const register = ({ tool, fail, z }) => {
  const use = async ({ id }, _ports, { signal }) => {
    const mode = existsSync(new URL("mode", folder)) ? readFileSync(new URL("mode", folder), "utf8") : "well";
    appendFileSync(new URL("done", folder), id + " " + mode + "\\n");
    if (mode === "fails") throw fail("the backend is down", { code: "unavailable" });
    if (mode === "hangs") await new Promise((_resolve, reject) => signal.addEventListener("abort", reject));
    return { id };
  };
  const input = z.strictObject({ id: z.string() });
  tool({ name: "backend_write", description: "x", effect: "write", input, run: use, render: JSON.stringify });
};
`;

const CONFIG = '[mcp]\nmode = "classic"\nrequest_timeout_seconds = 1\n[mcp.tools]\ncustom_modules = "mods"\n';

const p95 = (times: readonly number[]): number =>
  times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.95)] ?? Number.NaN;

test("REQ-I7 FAIL-D6: a backend that hangs, fails and recovers under load holds up nobody else, and does nothing twice", async () => {
  const app = await openTestApp({ config: CONFIG, files: { "mods/backend.mjs": MODULE, "a.txt": "a\n" } });
  const set = (mode: string | undefined): void =>
    mode === undefined ? rmSync(join(app.root, "mode")) : writeFileSync(join(app.root, "mode"), mode);
  const done = (): readonly string[] => readFileSync(join(app.root, "done"), "utf8").trim().split("\n");
  appendFileSync(join(app.root, "done"), "");
  let next = 0;
  const use = async (): Promise<string> => {
    const result = await app.ask("backend_write", { id: String(next++) });
    if (result.kind === "ok") return "ok";
    if (result.kind !== "error") return result.kind;
    return result.error.details["circuit"] === "open" ? "refused" : result.error.code;
  };
  const status = async () =>
    (await app.core.checkHealth()).checks.find(({ name }) => name === "backend_write");

  const read = async (): Promise<number> => {
    const startedAt = performance.now();
    expect(await app.text("read_file", { path: "a.txt" })).toContain("a");
    return performance.now() - startedAt;
  };
  for (let at = 0; at < 200; at++) await read();
  const alone: number[] = [];
  for (let at = 0; at < 100; at++) alone.push(await read());

  set("hangs");
  const hanging = Array.from({ length: 5 }, use);
  let isHanging = true;
  const hung = Promise.all(hanging).finally(() => {
    isHanging = false;
  });
  const beside: number[] = [];
  while (isHanging && beside.length < 100) beside.push(await read());
  // Otherwise they were not measured beside anything.
  expect(isHanging || beside.length > 20).toBe(true);
  expect(p95(beside)).toBeLessThan(p95(alone) * 3 + 10);
  expect(await hung).toEqual(Array(5).fill("timeout"));

  const reached = done().length;
  set("fails");
  expect(await Promise.all(Array.from({ length: 50 }, use))).toEqual(Array(50).fill("refused"));
  expect(done()).toHaveLength(reached);
  await vi.waitFor(async () => expect(await status()).toMatchObject({ status: "degraded" }), 3000);
  expect(await app.text("read_file", { path: "a.txt" })).toContain("a");

  // A probe that fails is one, whatever the load.
  await sleep(2_000);
  expect((await Promise.all(Array.from({ length: 20 }, use))).toSorted()).toEqual([
    ...Array(19).fill("refused"),
    "unavailable",
  ]);
  expect(done()).toHaveLength(reached + 1);

  set(undefined);
  const wellSince = performance.now();
  await vi.waitFor(async () => expect(await use()).toBe("ok"), { timeout: 5_000, interval: 100 });
  expect(performance.now() - wellSince).toBeLessThan(5_000);
  expect(await Promise.all(Array.from({ length: 20 }, use))).toEqual(Array(20).fill("ok"));
  await vi.waitFor(async () => expect(await status()).toMatchObject({ status: "ok" }), 3000);

  const ids = done().map((line) => line.split(" ")[0]);
  expect(new Set(ids).size).toBe(ids.length);
});
