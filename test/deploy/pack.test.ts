import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { packAssets } from "../../scripts/pack-assets.ts";
import { EXTRAS } from "../../src/base/extras-table.ts";
import { VERSION } from "../../src/wiring/version.ts";
import { pageOf, pdfOf } from "../documents/pdf.ts";
import { cleanEnv } from "../workspace.ts";
import { REPOSITORY, readFromRoot } from "./context.ts";

const run = promisify(execFile);

interface Manifest {
  readonly files: readonly string[];
  readonly bin: Readonly<Record<string, string>>;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly peerDependencies: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta: Readonly<Record<string, { readonly optional: boolean }>>;
}
const manifest = JSON.parse(readFromRoot("package.json")) as Manifest;

/** Only what a user gets: a package that is needed at run time and listed for development alone is then missing. */
const linkProductionModules = (folder: string): void => {
  // The package `node` is how the tester's machine has the right one; a user brings it along.
  const names = Object.keys({ ...manifest.dependencies, node: "" });
  for (const name of names) {
    const packageFolder = join(folder, "node_modules", name);
    mkdirSync(dirname(packageFolder), { recursive: true });
    symlinkSync(join(REPOSITORY, "node_modules", name), packageFolder);
  }
};

const TOKEN = "a-value-for-this-test-alone-0123456789";

describe("REQ-P2: the published package", () => {
  let folder: string;
  let program: string;
  /** Its compiled code goes away with it. */
  const ownEnv = () => ({ ...cleanEnv(), NODE_COMPILE_CACHE: join(folder, "compiled") });
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "llmc-pack-"));
    const staged = join(folder, "staged");
    // As `npm pack` does it, but beside the working tree: others may be using that.
    const compiled = join(staged, "dist");
    // Types are checked by `npm run check`; what is written is the same.
    const build = ["-p", join(REPOSITORY, "tsconfig.build.json"), "--noCheck", "--outDir", compiled];
    await run(join(REPOSITORY, "node_modules/.bin/tsc"), build);
    for (const name of ["package.json", ...manifest.files.filter((file) => file !== "dist")])
      cpSync(join(REPOSITORY, name), join(staged, name), { recursive: true });
    // How small the grammars become is measured by `npm run bench -- install`.
    await packAssets(join(staged, "assets"), 1);
    await run("npm", ["pack", "--ignore-scripts", "--pack-destination", folder], { cwd: staged });
    await run("tar", ["-xzf", join(folder, `llmc-mcp-${VERSION}.tgz`), "-C", folder]);
    program = join(folder, "package");
    linkProductionModules(program);
  }, 120_000);
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test("has what it lists, and neither sources nor tests", () => {
    const files = [...manifest.files, "package.json", "node_modules"].sort();
    expect(readdirSync(program).sort()).toEqual(files);
    const names = readdirSync(join(program, "dist"), { recursive: true, encoding: "utf8" });
    expect(names.filter((name) => /\.ts$|\.test\./.test(name))).toEqual([]);
  });

  test("npm installs no extra by itself, and each is in the table of extras", () => {
    const extras = [...new Set(Object.values(EXTRAS).flatMap(({ packages }): readonly string[] => packages))];
    expect(Object.keys(manifest.peerDependencies).sort()).toEqual(extras.toSorted());
    for (const name of extras) expect(manifest.peerDependenciesMeta[name]?.optional, name).toBe(true);
  });

  test("REQ-K1 reads documents with the parsers that it carries, confined", async () => {
    const script = `
      import { createDocumentParser } from ${JSON.stringify(join(program, "dist/documents/parser/document-parser.js"))};
      await using parser = createDocumentParser();
      const input = JSON.parse(process.argv[1]);
      for (const { name, text } of input) {
        const { sections } = await parser.parse({ bytes: Buffer.from(text, "latin1"), name });
        console.log(name, JSON.stringify(sections.map(({ text }) => text)));
      }`;
    const input = [
      { name: "a.md", text: "# One\n\nText" },
      { name: "a.html", text: "<h1>One</h1>Text" },
      { name: "a.pdf", text: pdfOf([pageOf("Text")]).toString("latin1") },
    ];
    const args = ["--input-type=module", "-e", script, JSON.stringify(input)];
    const { stdout } = await run(process.execPath, args, { env: ownEnv() });
    expect(stdout).toBe('a.md ["Text"]\na.html ["Text"]\na.pdf ["Text"]\n');
  });

  test("brings at most 80 packages, itself included (`npm run bench -- install` measures a real install)", () => {
    const { packages } = JSON.parse(readFromRoot("package-lock.json")) as {
      packages: Readonly<
        Record<string, { version: string; dev?: boolean; os?: readonly string[]; cpu?: readonly string[] }>
      >;
    };
    const isHere = (wanted: readonly string[] | undefined, own: string) => wanted?.includes(own) !== false;
    const installed = Object.entries(packages)
      .filter(([path, { dev, os, cpu }]) => {
        return path !== "" && dev !== true && isHere(os, process.platform) && isHere(cpu, process.arch);
      })
      .map(([path, { version }]) => `${path.slice(path.lastIndexOf("node_modules/"))}@${version}`);
    // A version that lies in two places here, beside those of development, lies in one there.
    const count = new Set(installed).size + 1;
    expect(count).toBeGreaterThan(50);
    expect(count).toBeLessThanOrEqual(80);
  });

  test("doctor names the extras that are not installed, and one that is asked for as a fault", async () => {
    const args = ["doctor", "--root", folder];
    const quiet = await run(join(program, "bin/llmc"), args, { env: ownEnv() });
    expect(quiet.stdout).toContain("npm install -g ioredis");
    const env = { ...ownEnv(), LLMC_MCP_LIMITS_STATE_URL: "redis://127.0.0.1:1" };
    const asked = await run(join(program, "bin/llmc"), args, { env }).catch(
      (error: { stdout: string }) => error,
    );
    expect(asked.stdout).toContain('mcp.limits.state_url needs the extra "redis", which is not installed');
  });

  test("a key that asks for an extra that is not installed is a clear error", async () => {
    const endpoint = "mcp.observability.otlp_endpoint=http://127.0.0.1:1";
    const args = ["tools", "--root", folder, "--set", endpoint];
    const { stderr } = await run(join(program, "bin/llmc"), args, { env: ownEnv() }).catch(
      (error: { stderr: string }) => error,
    );
    expect(stderr).toContain("npm install -g @opentelemetry/api");
  });

  test.each(Object.keys(manifest.bin))("starts %s, also through a link", async (name) => {
    const file = join(program, manifest.bin[name] ?? "");
    const link = join(folder, name);
    symlinkSync(file, link);
    for (const path of [file, link])
      expect((await run(path, ["--version"], { env: ownEnv() })).stdout).toContain(VERSION);
  });

  test("serves: a file, a command, and a search, which needs threads, grammars and the embedding table", async () => {
    const root = join(folder, "workspace");
    mkdirSync(root);
    writeFileSync(
      join(root, "a.py"),
      'def greet(name):\n    """Greets somebody by name."""\n    return name\n',
    );
    const child = spawn(
      join(program, "bin/llmc"),
      ["serve", "--http", "--port", "0", "--root", root, "--mode", "classic"],
      { cwd: "/", env: { ...ownEnv(), LLMC_MCP_TOKEN: TOKEN }, stdio: ["ignore", "pipe", "pipe"] },
    );
    let output = "";
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (text: string) => {
        output += text;
      });
    const exited = once(child, "close");
    try {
      while (!output.includes("/mcp ") && child.exitCode === null)
        await Promise.race([once(child.stdout, "data"), exited]);
      const url = /http:\/\/[^/\s]+(?=\/mcp)/.exec(output)?.[0] ?? output;
      const post = async (path: string, body: unknown): Promise<string> => {
        const headers = { "content-type": "application/json", "x-llmc-token": TOKEN };
        return (await fetch(url + path, { method: "POST", headers, body: JSON.stringify(body) })).text();
      };
      const tool = (name: string, args: unknown) => post("/tool", { session_id: "s", name, args });
      expect(await (await fetch(`${url}/health`)).json()).toEqual({ ok: true, version: "v0" });
      expect(await tool("read_file", { path: "a.py" })).toContain("def greet");
      expect(await tool("run_cmd", { command: "ls" })).toContain('"exit_code":0');
      const program = {
        language: "typescript",
        code: "const n: number = (await tools.list_dir({})).data.length; n",
      };
      expect(await tool("execute_code", program)).toContain('"result":1');
      expect(await tool("execute_code", { language: "python", code: "1" })).toContain(
        "npm install -g pyodide",
      );
      expect(await post("/rag/search", { q: "greet somebody by name", scope: "repo" })).toContain("a.py#L1");
      child.kill("SIGTERM");
      expect(await exited).toEqual([0, null]);
    } finally {
      child.kill("SIGKILL");
      await exited;
    }
  });

  test("brings the Landlock launcher along, which another process starts from its file", async () => {
    const { stdout } = await run(join(program, "bin/llmc"), ["doctor", "--json", "--root", folder], {
      env: ownEnv(),
    });
    expect(stdout).toContain('"sandbox"');
    const names = readdirSync(join(program, "dist/host"), { recursive: true, encoding: "utf8" });
    expect(names).toEqual(
      expect.arrayContaining(["run/tiers/landlock-launch.js", "run/tree/orphan-guard-main.js"]),
    );
  });
});
