import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { shareTestApp, type TestApp, tempWorkspace } from "../../../test/app.ts";
import { TOOL_ARGUMENTS } from "../../../test/tool-arguments.ts";
import { allTools } from "../../tools/all.ts";
import { argumentsOf, typeOfSchema } from "./schema-type.ts";
import { createStubFiles } from "./stub-files.ts";

const bin = (name: string): string =>
  fileURLToPath(new URL(`../../../node_modules/.bin/${name}`, import.meta.url));

/** Writes stubs and programs to the disk for a compiler. */
const writeAll = (files: Iterable<readonly [string, string]>): string => {
  const root = tempWorkspace();
  for (const [path, text] of files) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  return root;
};

const run = (file: string, args: readonly string[], cwd: string): string => {
  try {
    execFileSync(file, args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
    return "";
  } catch (error) {
    return String((error as { readonly stdout?: unknown }).stdout);
  }
};

const checkTypescript = (files: ReadonlyMap<string, string>, program: string): string => {
  const root = writeAll([...files, ["typescript/program.ts", `export {};\n${program}`]]);
  const options = [
    "--noEmit",
    "--strict",
    "--target",
    "es2024",
    "--module",
    "esnext",
    "--lib",
    "es2024",
    "--types",
    "",
  ];
  const names = [...files.keys()].filter((path) => path.endsWith(".d.ts"));
  return run(bin("tsc"), [...options, "--ignoreConfig", ...names, "typescript/program.ts"], root);
};

const checkPython = (files: ReadonlyMap<string, string>, program: string): string => {
  const root = writeAll([
    ...files,
    ["python/__init__.pyi", ""],
    ["program.py", `from python.globals import tools\n${program}`],
    ["pyrightconfig.json", JSON.stringify({ typeCheckingMode: "strict", pythonVersion: "3.13" })],
  ]);
  return run(bin("pyright"), ["--pythonplatform", "Linux", "."], root);
};

const readTree = async (app: TestApp): Promise<ReadonlyMap<string, string>> => {
  const files = new Map<string, string>();
  const walk = async (folder: string): Promise<void> => {
    const listed = await app.ask("list_dir", { path: folder });
    if (listed.kind !== "ok") throw new Error(JSON.stringify(listed));
    const { data, meta } = listed.structured as { data: string[]; meta: { dirs: string[] } };
    for (const name of data)
      if (meta.dirs.includes(name)) await walk(`${folder}/${name}`);
      else {
        const read = await app.ask("read_file", { path: `${folder}/${name}`, limit: 10_000 });
        if (read.kind !== "ok") throw new Error(JSON.stringify(read));
        const { data: text } = read.structured as { data: string };
        files.set(`${folder}/${name}`.replace(".llmc/stubs/", ""), text);
      }
  };
  await walk(".llmc/stubs");
  return files;
};

const AWKWARD = {
  type: "object",
  properties: {
    optional: { type: "string", description: 'ends */ the comment, """ too' },
    from: { type: "integer" },
    "with-dash": { anyOf: [{ type: "string" }, { type: "array", items: { type: "number" } }] },
    kind: { enum: ["a", "b", 3, null] },
    nested: { $ref: "#/$defs/tree" },
  },
  required: ["from"],
  $defs: {
    tree: {
      type: "object",
      properties: { class: { type: "string" }, children: { type: "array", items: { $ref: "#/$defs/tree" } } },
    },
  },
};

const awkward = createStubFiles([
  {
    name: "odd_one",
    description: 'Optional before required, keywords, unions; */ and """ too.',
    input: argumentsOf(AWKWARD),
    output: typeOfSchema(AWKWARD),
  },
  { name: "odd_two", description: "No arguments.", input: [], output: { is: "any" } },
  { name: "class", description: "A keyword.", input: [], output: { is: "string" } },
  { name: "00-x", description: "Not a name.", input: [], output: { is: "null" } },
]);

describe("stubs", { timeout: 120_000 }, () => {
  const app = shareTestApp({
    files: { ".llmc/stubs/index.md": "forged", ".llmc/stubs/typescript/evil.d.ts": "forged" },
    config: 'mcp.mode = "code_execution"\nmcp.tools.allowed_roots = []\n',
  });

  test("REQ-E1: every tool has a stub, from the catalogue, whatever the roots are and the disk holds", async () => {
    const files = await readTree(app());
    expect([...files.values()].join("\n")).not.toContain("forged");
    const index = files.get("index.md") ?? "";
    for (const { name } of allTools) {
      if (name === "execute_code") continue;
      expect(index, name).toContain(`- ${name}(`);
    }
    expect(files.has("typescript/linux_fs.d.ts")).toBe(true);
    expect(files.has("python/rag.pyi")).toBe(true);
  });

  test("REQ-E1: they compile under tsc and pyright, and wrong calls do not", async () => {
    const files = await readTree(app());
    const good = `const a = await tools.read_file({ path: "x" });\nconst n: string = a.data;\nawait tools.list_dir();\nvoid [n, inputs["x"]];\n`;
    expect(checkTypescript(files, good)).toBe("");
    expect(checkTypescript(files, "await tools.read_file({});")).toContain("path");
    expect(checkTypescript(files, "await tools.no_such_tool({});")).toContain("no_such_tool");
    const python = `
async def main() -> str:
    a = await tools.read_file(path="x")
    await tools.list_dir()
    return a["data"]
`;
    expect(checkPython(files, python)).not.toContain("error:");
    expect(checkPython(files, "async def main():\n    await tools.read_file()\n")).toContain("error:");
  });

  test("REQ-E1: the arguments of every tool, as the tests of doors send them, are of the types of its stub", async () => {
    const files = await readTree(app());
    const calls = Object.entries(TOOL_ARGUMENTS);
    const typescript = calls.map(
      ([name, args]) => `await tools[${JSON.stringify(name)}](${JSON.stringify(args)});`,
    );
    expect(checkTypescript(files, typescript.join("\n"))).toBe("");
    const python = calls.map(([name, args]) => {
      const given = Object.entries(args).map(([key, value]) => `${key}=${JSON.stringify(value)}`);
      const tool = /^[a-z]\w*$/.test(name) ? `tools.${name}` : `tools[${JSON.stringify(name)}]`;
      return `    await ${tool}(${given.join(", ")})`;
    });
    expect(checkPython(files, `async def main():\n${python.join("\n")}\n`)).not.toContain("error:");
  });

  test("FAIL-G8: optional before required, keywords, unions and no arguments compile", () => {
    expect(
      checkTypescript(
        awkward.files,
        `await tools.odd_one({ from: 1, "with-dash": [1], kind: 3 });\nawait tools.odd_two();\nawait tools.class();\nawait tools["00-x"]();`,
      ),
    ).toBe("");
    expect(
      checkPython(
        awkward.files,
        `async def main():
    await tools.odd_one(**{"from": 1})
    await tools.odd_one(**{"from": 1, "with-dash": [1.5], "kind": 3, "nested": {"class": "c", "children": [{}]}})
    await tools.odd_two()
    await tools["class"]()
    await tools["00-x"]()
`,
      ),
    ).not.toContain("error:");
    for (const wrong of ['{ from: 1, kind: "c" }', '{ optional: "x" }', '{ from: 1, "with-dash": 1 }'])
      expect(checkTypescript(awkward.files, `await tools.odd_one(${wrong});`), wrong).not.toBe("");
    for (const wrong of ['{"from": 1, "kind": "c"}', '{"optional": "x"}', '{"from": 1, "with-dash": 1}'])
      expect(
        checkPython(awkward.files, `async def main():\n    await tools.odd_one(**${wrong})\n`),
        wrong,
      ).toContain("error:");
  });

  test("search_tools finds by words, and says so when nothing matches", async () => {
    const text = await app().text("search_tools", { query: "edit a file" });
    expect(text).toContain("linux_fs_edit(");
    expect(await app().text("search_tools", { query: "zzzz" })).toContain("index.md");
    expect(await app().errorCode("read_file", { path: ".llmc/stubs/none.md" })).toBe("file_not_found");
    expect(await app().errorCode("list_dir", { path: ".llmc/stubs/../../etc" })).toBe("path_denied");
  });
});
