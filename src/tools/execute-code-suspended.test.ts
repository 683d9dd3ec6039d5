import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { shareTestApp, TEST_CALLER } from "../../test/app.ts";
import type { CallResult } from "../core/call.ts";
import type { Origin } from "../core/origin.ts";

const canAsk = (): boolean => true;
const YES = { grant: { action: "accept", content: { grant: "once" } } };
const NO = { grant: { action: "decline" } };

/** It asks for `date`, and meanwhile writes whenever it can. */
const WRITER = `
const asked = tools.run_cmd({ command: "date +%%" }).catch((e) => e.code);
let writes = 0;
const write = async () => {
  await tools.linux_fs_write({ path: inputs.path, content: String(++writes) });
};
for (let i = 0; i < 5; i++) { await new Promise((r) => setTimeout(r, 50)); await write(); }
[(await asked) !== undefined, writes];`;

describe("FAIL-J8 REQ-I5: a program whose user is asked something", () => {
  const app = shareTestApp({ files: { "a.txt": "one\n" } });
  const ask = async (args: object, origin: Partial<Origin> = {}): Promise<CallResult> =>
    app().ask("execute_code", { language: "javascript", ...args }, { canAsk, ...origin });
  const stateOf = (asked: CallResult): unknown => {
    if (asked.kind !== "questions") throw new Error(JSON.stringify(asked));
    return asked.state;
  };
  const contentOf = (path: string): string | undefined =>
    existsSync(join(app().root, path)) ? readFileSync(join(app().root, path), "utf8") : undefined;
  const records = (): readonly Readonly<Record<string, unknown>>[] =>
    readdirSync(join(app().root, ".llmc/audit"))
      .flatMap((name) => readFileSync(join(app().root, ".llmc/audit", name), "utf8").split("\n"))
      .filter((line) => line.startsWith("{"))
      .map((line) => JSON.parse(line) as Record<string, unknown>);

  test("does nothing until the answer comes, past its own deadline too; then it goes on where it was", async () => {
    const args = { code: WRITER, inputs: { path: "out.txt" }, timeout_s: 2 };
    const state = stateOf(await ask(args));
    const before = contentOf("out.txt");
    await sleep(2500);
    expect(contentOf("out.txt")).toBe(before);
    const ended = await ask(args, { answers: NO, state });
    expect(ended).toMatchObject({ kind: "ok", structured: { data: { result: [true, 5] } } });
  });

  test("what the user agreed to happens before anything else that the program does", async () => {
    const code = `
const asked = tools.run_cmd({ command: "nproc --version; cat order.txt" }).then(() => 1, () => 1);
await new Promise((r) => setTimeout(r, 100));
const read = tools.stat({ path: "a.txt" });
await Promise.all([asked, read]); 1`;
    const state = stateOf(await ask({ code }));
    const ended = await ask({ code }, { answers: YES, state });
    if (ended.kind !== "ok") throw new Error(JSON.stringify(ended));
    const { meta } = ended.structured as { meta: { tool_calls: readonly { name: string }[] } };
    expect(meta.tool_calls.map(({ name }) => name)).toEqual(["run_cmd", "stat"]);
  });

  test("ends when its caller gives the request up between two rounds", async () => {
    const controller = new AbortController();
    const args = { code: WRITER, inputs: { path: "cancelled.txt" } };
    const state = stateOf(await ask(args, { requestSignal: controller.signal }));
    const before = contentOf("cancelled.txt");
    controller.abort();
    expect(await ask(args, { answers: YES, state })).toMatchObject({
      kind: "error",
      error: { code: "unavailable" },
    });
    await sleep(300);
    expect(contentOf("cancelled.txt")).toBe(before);
  });

  test("its calls are judged with the rights that its caller has by now", async () => {
    let may: ReadonlySet<string> = TEST_CALLER.may;
    const code = `
const first = await tools.linux_fs_write({ path: "rights.txt", content: "1" }).then(() => "ok", (e) => e.code);
await tools.admin_get_status({}).catch(() => {});
[first, await tools.linux_fs_write({ path: "rights.txt", content: "2" }).then(() => "ok", (e) => e.code)]`;
    const state = stateOf(await ask({ code }, { mayNow: () => may }));
    may = new Set(["read", "execute"]);
    const ended = await ask({ code }, { mayNow: () => may, answers: NO, state });
    expect(ended).toMatchObject({
      kind: "ok",
      structured: { data: { result: ["ok", "PERMISSION_DENIED"] } },
    });
    expect(contentOf("rights.txt")).toBe("1");
  });

  test("REQ-D23 goes on for the request that started it alone; a program that starts another leaves a record", async () => {
    const code = `
await tools.admin_get_status({}).catch(() => {});
await tools.execute_code({ language: "javascript", code: "1" }).catch((e) => e.code)`;
    const state = stateOf(await ask({ code }));
    const other = { code: "1 // harmless", session: "zz" };
    expect(await ask(other, { answers: NO, state })).toMatchObject({
      kind: "error",
      error: { code: "invalid_args" },
    });
    const ended = await ask({ code }, { answers: NO, state });
    expect(ended).toMatchObject({ kind: "ok", structured: { data: { result: "forbidden" } } });
    expect(
      records().filter(({ route, tool }) => route === "execute_code" && tool === "execute_code"),
    ).toEqual([expect.objectContaining({ kind: "call", outcome: "forbidden" })]);
  });
});
