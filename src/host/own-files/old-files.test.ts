import { readdirSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { tempWorkspace } from "../../../test/app.ts";
import { removeOldFiles } from "./old-files.ts";

const NOW = 1_700_000_000_000;

/** Files that were written so many seconds ago. */
const folderOf = (ages: Readonly<Record<string, number>>): string => {
  const folder = tempWorkspace();
  for (const [name, seconds] of Object.entries(ages)) {
    writeFileSync(join(folder, name), "");
    utimesSync(join(folder, name), NOW / 1000 - seconds, NOW / 1000 - seconds);
  }
  return folder;
};

test("the oldest files go when there are too many or they are too old; others are left alone", async () => {
  const folder = folderOf({ "t-1": 10, "t-2": 20, "t-3": 30, "t-4": 4000, other: 9000 });
  const names = /^t-/;
  await removeOldFiles(folder, { names, maxFiles: 10, maxAgeMs: 3_600_000 }, NOW);
  expect(readdirSync(folder).sort()).toEqual(["other", "t-1", "t-2", "t-3"]);
  await removeOldFiles(folder, { names, maxFiles: 2, maxAgeMs: Number.POSITIVE_INFINITY }, NOW);
  expect(readdirSync(folder).sort()).toEqual(["other", "t-1", "t-2"]);
});
