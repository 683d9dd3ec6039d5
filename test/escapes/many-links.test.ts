import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createLinkBudget, namesLeadingInto } from "../../src/host/own-files/names-leading-into.ts";
import { tempWorkspace } from "../app.ts";
import { ofThisKernel } from "./command-stand.ts";
import { commandTools } from "./command-tools.ts";
import { openWrites } from "./write-port.ts";

const OURS = "export const x = 1;\n";

/** A folder of modules with the packages that they import; a link among them leads into the workspace. */
const withPackages = (packages: number): string => {
  const root = tempWorkspace({ "packages/lib/index.js": OURS, "mods/m.mjs": "", "src/a.txt": "" });
  for (let i = 0; i < packages; i++) {
    const folder = join(root, "mods/node_modules", `a${i}`);
    mkdirSync(folder, { recursive: true });
    for (let j = 0; j < 9; j++) writeFileSync(join(folder, `${j}.js`), "");
  }
  mkdirSync(join(root, "mods/node_modules/z"), { recursive: true });
  symlinkSync("../../../packages/lib", join(root, "mods/node_modules/z/lib"));
  return root;
};

const folderOfLinks = (count: number, target: string): string => {
  const root = tempWorkspace({ "tools/x": "" });
  for (let i = 0; i < count; i++) symlinkSync(target, join(root, `tools/l${i}`));
  return root;
};

describe("REQ-D16 FAIL-J1 folders that are obeyed and hold much", () => {
  const obeyedPaths = () => ({ modules: ["mods"] });

  test("what a link behind thousands of files leads to is protected from file tools", async () => {
    const root = withPackages(700);
    const writes = openWrites(root, { obeyedPaths });
    await expect(writes.rewrite("packages/lib/index.js", "evil")).rejects.toMatchObject({
      code: "path_denied",
    });
    await writes.rewrite("src/a.txt", "1");
    // A link that is made later counts at once.
    symlinkSync("../../src", join(root, "mods/node_modules/src"));
    await expect(writes.rewrite("src/a.txt", "2")).rejects.toMatchObject({ code: "path_denied" });
  });

  test.each(ofThisKernel.filter(({ tier }) => tier !== "plain"))(
    "and from commands in $name",
    async (setting) => {
      const root = withPackages(600);
      const options = { allowlist: ["python3"], powers: [], denylist: [], obeyedPaths };
      await using commands = commandTools(setting, root, options);
      const attack =
        "for p in ['packages/lib/index.js', 'src/a.txt']:\n try: open(p, 'w').write('1')\n except OSError: pass\n";
      writeFileSync(join(root, "attack.py"), attack);
      await commands.use("run_cmd", "python3 attack.py");
      expect(readFileSync(join(root, "src/a.txt"), "utf8")).toBe("1");
      expect(readFileSync(join(root, "packages/lib/index.js"), "utf8")).toBe(OURS);
    },
  );

  test("where there are more links than can be followed, nothing is written, and the folder is named", async () => {
    const root = folderOfLinks(10_001, "/nowhere/x");
    const writes = openWrites(root, { obeyedPaths: () => ({ modules: ["tools"] }) });
    await expect(writes.rewrite("a", "1")).rejects.toMatchObject({
      code: "forbidden",
      message: expect.stringContaining(join(root, "tools")),
      hint: expect.stringContaining("mcp.tools.custom_modules"),
    });
  });

  test("FAIL-J6 links to their own folder are not followed one by one", () => {
    const root = folderOfLinks(4900, ".");
    const started = performance.now();
    expect(namesLeadingInto([join(root, "tools")], createLinkBudget())).toEqual([join(root, "tools")]);
    expect(performance.now() - started).toBeLessThan(1000);
  });

  test.each([
    ["a name of the folder", "x", true],
    ["a link that leads back through a name", "x/../../outside", false],
    ["the folder beside it", "../tools-too", false],
    ["a name that begins with dots", "..x", true],
  ])("a link to %s", (_what, target, stays) => {
    const root = folderOfLinks(1, target);
    const names = namesLeadingInto([join(root, "tools")], createLinkBudget());
    expect(names.length === 1).toBe(stays);
  });

  test("REQ-D22 what a workspace asks for and is not trusted with does not keep tools from writing", async () => {
    const root = folderOfLinks(10_001, "/nowhere/x");
    symlinkSync("tools", join(root, "llmc.toml"));
    const writes = openWrites(root, { waitingModules: () => ["tools"] });
    await writes.rewrite("a", "1");
    await expect(writes.rewrite("tools/x", "1")).rejects.toMatchObject({ code: "path_denied" });
  });
});
