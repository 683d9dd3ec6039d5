import { statSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { tempWorkspace } from "../../../test/app.ts";
import { makeFolders } from "./own-folder.ts";

it("FAIL-D6 folders are made one in the other, and where the system has no room for them it fails at once", () => {
  const folder = join(tempWorkspace(), "a/b/c");
  makeFolders(folder, 0o700);
  makeFolders(folder, 0o700);
  expect(statSync(folder).mode & 0o777).toBe(0o700);
  expect(() => makeFolders("/proc/nope/state")).toThrow(/ENOENT/);
});
