import { rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openTestApp, type TestApp, tempWorkspace } from "../app.ts";

const CONFIG = '[mcp]\nmode = "classic"\n';
const LINES = 400;

const textOf = (secret: string): string =>
  Array.from({ length: LINES }, (_, i) => `needle ${secret} ${i}\n`).join("");

const structuredOf = async (app: TestApp, tool: string, args: unknown): Promise<unknown> => {
  const answer = await app.ask(tool, args);
  if (answer.kind !== "ok") throw new Error(JSON.stringify(answer));
  return answer.structured;
};

test("FAIL-A10 REQ-F8 a search in a handle says nothing about files that are denied or out of reach since", async () => {
  const app = await openTestApp({
    config: CONFIG,
    watch: true,
    files: {
      "denied.txt": textOf("alpha"),
      "linked.txt": textOf("beta"),
      "plain.txt": textOf("gamma"),
    },
  });
  const args = { pattern: "needle", max_results: 5 };
  const { handle } = (await structuredOf(app, "linux_search_content", args)) as { handle: string };
  const count = async (pattern: string): Promise<number> => {
    const read = await structuredOf(app, "linux_handle_read", { handle, pattern });
    return (read as { meta: { total_hits: number } }).meta.total_hits;
  };
  for (const secret of ["alpha", "beta", "gamma"]) expect(await count(`${secret} 1`)).toBe(111);

  writeFileSync(join(app.root, "llmc.toml"), `${CONFIG}[mcp.tools]\ndenylist_globs = ["**/denied.txt"]\n`);
  const outside = tempWorkspace({ "linked.txt": textOf("beta") });
  rmSync(join(app.root, "linked.txt"));
  symlinkSync(join(outside, "linked.txt"), join(app.root, "linked.txt"));
  const readDenied = async () => (await app.ask("read_file", { path: "denied.txt" })).kind;
  await expect.poll(readDenied, { timeout: 20_000 }).toBe("error");

  // Neither what a line holds, nor that it is withheld, nor its place can be found out by any pattern.
  for (const pattern of ["alpha", "beta", "^$", "no longer", "(denied|linked)"])
    expect(await count(pattern)).toBe(0);
  for (const pattern of ["needle", ".*", "gamma"]) expect(await count(pattern)).toBe(LINES);
  const shown = await app.text("linux_handle_read", { handle, pattern: "gamma 7$" });
  expect(shown).toContain("8:needle gamma 7");
});
