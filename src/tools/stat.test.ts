import { chmodSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openTestApp } from "../../test/app.ts";

const classic = { overrides: { "mcp.mode": "classic" } };

test("REQ-T1: size, time, mode and type, in the documented shape", async () => {
  const app = await openTestApp({ ...classic, files: { "run.sh": "echo\n" } });
  chmodSync(join(app.root, "run.sh"), 0o755);
  const result = await app.ask("stat", { path: "run.sh" });
  expect(result).toMatchObject({
    structured: { data: { size: 5, mode: "0755", type: "file" }, meta: { path: "run.sh" } },
  });
  const { mtime } = JSON.parse(await app.text("stat", { path: "run.sh" }));
  expect(Math.abs(Date.now() / 1000 - mtime)).toBeLessThan(60);
});

test("directories, denylisted names and refusals", async () => {
  const app = await openTestApp({ ...classic, files: { ".env": "A=1" } });
  expect(JSON.parse(await app.text("stat", { path: "." })).type).toBe("dir");
  expect(JSON.parse(await app.text("stat", { path: ".env" })).size).toBe(3);
  expect(await app.errorCode("stat", { path: "/etc/passwd" })).toBe("path_denied");
  expect(await app.errorCode("stat", { path: "nope" })).toBe("file_not_found");
  expect(await app.errorCode("stat", { path: "" })).toBe("invalid_args");
});
