import { mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { tempWorkspace } from "../app.ts";
import { firstScreen, makeClone, makeProject, runHour } from "./first-hour.ts";

const ROOT = resolve(import.meta.dirname, "../..");

describe("REQ-P1 REQ-P3: a new user's hour", () => {
  test("from a clone: the README's first screen leads to the first answer of a client", async () => {
    const folder = tempWorkspace();
    makeClone(join(folder, "llmc"));
    await makeProject(join(folder, "your-project"));
    const { tools, answer } = await runHour(firstScreen().clone, folder);
    expect(tools).toContain("rag_search");
    expect(answer).toContain("src/session.ts#L");
  });

  test("by npm: the same, with what npm would have put into the PATH", async () => {
    const folder = tempWorkspace();
    await makeProject(join(folder, "your-project"));
    mkdirSync(join(folder, "bin"));
    symlinkSync(join(ROOT, "bin/llmc"), join(folder, "bin/llmc"));
    const [install, ...rest] = firstScreen().npm.split("\n");
    // `npm run bench -- first-hour` packs and installs for real, which needs a registry.
    expect(install).toBe(
      `npm install -g ${JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")).name}`,
    );
    const { answer } = await runHour(rest.join("\n"), folder, {
      PATH: `${join(folder, "bin")}:${process.env["PATH"]}`,
    });
    expect(answer).toContain("src/session.ts#L");
  });
});
