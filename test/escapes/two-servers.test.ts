import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { rounds } from "../rounds.ts";
import { type Server, textOf } from "../server.ts";
import { createWorkspace } from "../workspace.ts";

const ROUNDS = rounds(40, 500);

/** Calls until it succeeds: `busy` is an answer that asks for another try. */
const insist = async (server: Server, tool: string, args: Record<string, unknown>): Promise<void> => {
  for (;;) {
    const result = await server.call(tool, args);
    if (result.isError !== true) return;
    const { meta } = JSON.parse(textOf(result)) as { meta: { retryable: boolean } };
    if (!meta.retryable) throw new Error(textOf(result));
  }
};

test("FAIL-A17 REQ-F10: two servers append to and edit one file, and no change is lost", async () => {
  await using workspace = await createWorkspace({ "log.txt": "", "count.txt": "n=0;\n" });
  const servers = await Promise.all([workspace.start(), workspace.start()]);
  const appends = servers.map(async (server, who) => {
    for (let i = 0; i < ROUNDS; i++)
      await insist(server, "linux_fs_write", { path: "log.txt", mode: "append", content: `${who}:${i}\n` });
  });
  const edits = servers.map(async (server, who) => {
    for (let i = 0; i < ROUNDS; i++) {
      await insist(server, "linux_fs_edit", {
        path: "count.txt",
        old_text: "n=0;",
        new_text: `n=0; ${who}.${i},`,
      });
    }
  });
  await Promise.all([...appends, ...edits]);
  const expected = [0, 1].flatMap((who) => Array.from({ length: ROUNDS }, (_, i) => `${who}:${i}`));
  const log = (await readFile(join(workspace.root, "log.txt"), "utf8")).trimEnd().split("\n");
  expect(log.toSorted()).toEqual(expected.toSorted());
  const counted = (await readFile(join(workspace.root, "count.txt"), "utf8")).match(/\d+\.\d+/g) ?? [];
  expect(counted.toSorted()).toEqual(expected.map((entry) => entry.replace(":", ".")).toSorted());
}, 180_000);
