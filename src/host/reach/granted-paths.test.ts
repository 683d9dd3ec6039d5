import { mkdirSync, renameSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { tempWorkspace } from "../../../test/app.ts";
import type { GrantedPaths } from "../../policy/permit.ts";
import { createFiles } from "../read/files.ts";
import { createReach } from "./reach.ts";

const filesWith = (workspace: string, granted: GrantedPaths) =>
  createFiles(createReach({ workspace, roots: () => ["."], denylist: () => [], granted }));

const read = (files: ReturnType<typeof filesWith>, path: string): Promise<unknown> =>
  files.readText(path, { offsetLines: 0, maxLines: 10, maxBytes: 1000 }).then(
    ({ text }) => text,
    (error: { code: string }) => error.code,
  );

it("REQ-I5: what was granted is what the path led to then, also where the folder itself is exchanged", async () => {
  const workspace = tempWorkspace();
  const out = tempWorkspace({ "open/f": "OPEN", "private/f": "PRIVATE" });
  symlinkSync(join(out, "open"), join(out, "L"));
  const paths = [{ path: join(out, "L"), realPath: join(out, "open") }];
  const files = filesWith(workspace, { paths, forbids: () => false });
  expect(await read(files, join(out, "L/f"))).toBe("OPEN");
  renameSync(join(out, "L"), join(out, "K"));
  symlinkSync(join(out, "private"), join(out, "L"));
  expect(await read(files, join(out, "L/f"))).toBe("path_denied");
  renameSync(join(out, "open"), join(out, "gone"));
  symlinkSync(join(out, "private"), join(out, "open"));
  // A port that is made only now resolves nothing again either.
  for (const path of ["open/f", "L/f"])
    expect(await read(filesWith(workspace, { paths, forbids: () => false }), join(out, path))).toBe(
      "path_denied",
    );
});

it("REQ-I4: policy is asked about what is opened outside the roots, and about nothing inside", async () => {
  const workspace = tempWorkspace({ "in.txt": "IN" });
  const out = tempWorkspace({ "a/f": "F", "b/g": "G" });
  mkdirSync(join(workspace, "dir"));
  symlinkSync(join(out, "a/f"), join(out, "b/link"));
  symlinkSync(join(workspace, "in.txt"), join(out, "b/in"));
  const asked: string[] = [];
  const files = filesWith(workspace, {
    paths: [{ path: out, realPath: out }],
    forbids: (path) => {
      asked.push(path);
      return path === join(out, "a/f");
    },
  });
  expect(await read(files, join(out, "b/g"))).toBe("G");
  expect(await read(files, join(out, "b/link"))).toBe("path_denied");
  expect(await read(files, join(out, "a/f"))).toBe("path_denied");
  expect(await read(files, "in.txt")).toBe("IN");
  expect(await read(files, join(out, "b/in"))).toBe("IN");
  expect(asked.filter((path) => path.startsWith(workspace))).toEqual([]);
});
