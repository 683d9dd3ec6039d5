import { homedir } from "node:os";
import { expect, test } from "vitest";
import { resolveSource } from "./kb-commands.ts";

test.each([
  ["docs", "/project/docs"],
  ["api.git#v1", "/project/api.git#v1"],
  ["git+./api#v1.2.0", "git+/project/api#v1.2.0"],
  ["git+../api", "git+/api"],
  ["git+/srv/api.git", "git+/srv/api.git"],
  ["git+~/api#main", `git+${homedir()}/api#main`],
  ["git+~", `git+${homedir()}`],
  ["git+https://example.org/api.git#v1", "git+https://example.org/api.git#v1"],
  ["git+ssh://git@example.org/api.git", "git+ssh://git@example.org/api.git"],
  ["https://example.org/sitemap.xml", "https://example.org/sitemap.xml"],
])("REQ-K1: the source %s is %s, wherever it is read from later", (typed, kept) => {
  expect(resolveSource("/project", typed)).toBe(kept);
});
