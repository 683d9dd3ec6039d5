import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { tempWorkspace } from "../../../../test/app.ts";
import { findCalledAs } from "./called-as.ts";

test("REQ-D23 FAIL-C2 a program is called by its bare name only where nobody can put another in its way", () => {
  const root = tempWorkspace({});
  for (const folder of ["first", "second", "work"]) mkdirSync(join(root, folder));
  const put = (path: string): string => {
    writeFileSync(join(root, path), "#!/bin/sh\n");
    chmodSync(join(root, path), 0o755);
    return join(root, path);
  };
  const cat = put("second/cat");
  const [first, second, work] = ["first", "second", "work"].map((name) => join(root, name));
  const called = (typed: string, ...path: readonly (string | undefined)[]) =>
    findCalledAs(typed, cat, path.join(":"), [work ?? ""]);
  expect(called("cat", first, second)).toBe("cat");
  expect(called("cat", join(root, "missing"), second)).toBe("cat");
  expect(called(cat, first, second)).toBeUndefined();
  expect(called("cat", work, second)).toBeUndefined();
  expect(called("cat", first)).toBeUndefined();
  symlinkSync(work ?? "", join(root, "link"));
  expect(called("cat", join(root, "link"), second)).toBeUndefined();
  put("first/cat");
  expect(called("cat", first, second)).toBeUndefined();
});
