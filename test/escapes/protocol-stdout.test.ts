import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { textOf } from "../server.ts";
import { createWorkspace, toolModule, WITH_MODULES } from "../workspace.ts";

const MAIN = fileURLToPath(new URL("../../src/main.ts", import.meta.url));

/** What a careless dependency does, when it is loaded and when it is called. */
const printing = (body: string): string => `
import { writeSync } from "node:fs";
import { spawnSync, spawn } from "node:child_process";
const print = () => { ${body} };
print();
${toolModule('tool("noise", () => { print(); return "done"; });')}
`;

const THROUGH_JAVASCRIPT = `
console.log("NOISE console.log");
console.info("NOISE console.info");
console.table([["NOISE"]]);
process.stdout.write("NOISE stdout.write\\n");
process.stdout.write(Buffer.from("NOISE bytes\\n"));
`;

const PAST_JAVASCRIPT = `
writeSync(1, "NOISE writeSync\\n");
writeSync(1, '{"jsonrpc":"2.0","id":1,"result":{"NOISE":true}}\\n');
spawnSync("echo", ["NOISE child"], { stdio: ["ignore", "inherit", "inherit"] });
spawn("sh", ["-c", "echo NOISE grandchild & wait"], { stdio: ["ignore", "inherit", "inherit"] });
`;

describe("FAIL-D4 nothing but the protocol is on stdout", () => {
  test.each([
    {
      title: "the launcher: not even native code and children reach it",
      body: THROUGH_JAVASCRIPT + PAST_JAVASCRIPT,
    },
    {
      title: "node without the launcher: nothing that goes through JavaScript's streams",
      body: THROUGH_JAVASCRIPT,
      command: [process.execPath, MAIN] as const,
    },
  ])("$title", async ({ body, command }) => {
    await using workspace = await createWorkspace({ "mods/noise.mjs": printing(body) });
    const server = await workspace.start({
      args: WITH_MODULES,
      ...(command === undefined ? {} : { command: [...command] }),
    });
    for (let i = 0; i < 20; i++) expect(textOf(await server.call("noise"))).toBe('"done"');
    const marks = body.match(/NOISE [a-zA-Z.]+/g) ?? [];
    await server.until(() => marks.every((mark) => server.stderr.includes(mark)), "the noise on stderr");
    await server.stop();
    expect(server.strays).toEqual([]);
    expect(JSON.stringify(server.messages)).not.toContain("NOISE");
    expect(server.messages).toHaveLength(21);
  });
});
