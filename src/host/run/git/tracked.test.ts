import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createWorkspace } from "../../../../test/workspace.ts";
import { createTrackedFinder } from "./tracked.ts";

test("FAIL-D6 FAIL-J4 a hundred thousand secrets do not hold the server up when git runs", async () => {
  await using workspace = await createWorkspace({
    "many/1.env": "kept\n",
    "broken/.git": "gitdir: nowhere\n",
  });
  const { root } = workspace;
  for (const args of [
    ["init", "-q"],
    ["add", "many"],
  ])
    execFileSync("git", args, { cwd: root });
  mkdirSync(join(root, "deep/er"), { recursive: true });
  // They need not be there: where they lie is what costs.
  const paths = Array.from({ length: 100_000 }, (_, at) => join(root, "many", `${at}.env`));
  const before = process.cpuUsage();
  const found = createTrackedFinder()(
    [...paths, join(root, "deep/er/.env"), join(root, "broken/.env")],
    [root],
  );
  const { user, system } = process.cpuUsage(before);
  expect([...found.unmodified]).toEqual([join(root, "many/1.env")]);
  expect([...found.changed]).toEqual([]);
  // Looking for the repository of each one took twenty times as long.
  expect((user + system) / 1000).toBeLessThan(2000);
});
