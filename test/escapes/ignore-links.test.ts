import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createReach } from "../../src/host/reach/reach.ts";
import { createFiles } from "../../src/host/read/files.ts";
import { createSearch } from "../../src/host/search/search.ts";
import { openTestApp } from "../app.ts";
import { createWorkspace } from "../workspace.ts";
import { ofThisKernel } from "./command-stand.ts";
import { commandTools } from "./command-tools.ts";
import { OWNER } from "./process-stand.ts";

const SECRET = "PASSWORD=planted-secret";
const FILES = { ".env": `${SECRET}\nPASS*\nopen{\n`, "sub/a.txt": "a", "sub/PASSx.txt": "b", "out/x": "" };

describe("FAIL-J2 FAIL-J4: an ignore file that is a link to what is withheld", () => {
  test.each([".ignore", ".gitignore", ".rgignore"])("%s: searches do not tell its lines", async (name) => {
    const app = await openTestApp({ overrides: { "mcp.mode": "classic" }, files: FILES });
    mkdirSync(join(app.root, ".git"));
    symlinkSync("../.env", join(app.root, "sub", name));
    const before = await app.text("linux_search_files", { pattern: "PASSx.txt" });
    expect(before).not.toContain("PASS*");
    // Whoever would try one line after the other has to write, and then the link is known.
    await app.ask("linux_fs_write", { path: "out/y", content: "" });
    for (const [tool, pattern] of [
      ["linux_search_files", "PASSx.txt"],
      ["linux_search_content", "b"],
    ] as const) {
      expect(JSON.stringify(await app.ask(tool, { pattern })), tool).toContain("UNAVAILABLE");
      expect((await app.ask(tool, { pattern, root: "out" })).kind, tool).toBe("ok");
    }
  });

  test("the rule of one above the workspace is not told", async () => {
    await using above = await createWorkspace({ ".ignore": "*customer-2027*\n", "ws/customer-2027.txt": "" });
    const reach = createReach({ workspace: join(above.root, "ws"), roots: () => ["."], denylist: () => [] });
    const handles = { put: async () => "h_1" };
    const search = createSearch({ reach, files: createFiles(reach), handles, timeoutMs: () => 10_000 });
    const query = {
      root: ".",
      pattern: "customer-2027.txt",
      fileGlob: undefined,
      ignoreFiles: true,
      maxResults: 10,
    };
    const found = JSON.stringify(await search.names(query, { ...OWNER, principal: "local" }, undefined));
    expect(found).toContain("a rule in .ignore above the workspace");
    expect(found).not.toContain("*customer-2027*");
  });
});

describe.each(ofThisKernel)("FAIL-J4 FAIL-J12: rg and such an ignore file in $name", (setting) => {
  test.each([".ignore", ".Ignore"])("%s: it does not print the lines as rules", async (name) => {
    await using workspace = await createWorkspace(FILES);
    await using outside = await createWorkspace({ "key.txt": "outer-secret*\n" });
    const { root } = workspace;
    symlinkSync("../.env", join(root, "sub", name));
    symlinkSync(join(outside.root, "key.txt"), join(root, "out", name));
    writeFileSync(join(root, "out/b.txt"), "");
    await using commands = commandTools(setting, root, {
      allowlist: ["rg"],
      powers: [],
      denylist: ["**/.env"],
    });
    const answer = await commands
      .use("run_cmd", "rg --debug --ignore-file-case-insensitive --files sub out")
      .catch(String);
    expect(answer).toContain("a.txt");
    for (const secret of ["planted-secret", "PASS*", "open{", "outer-secret"])
      expect(answer).not.toContain(secret);
  });
});
