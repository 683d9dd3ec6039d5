import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { ENTRIES } from "../../src/config/sections.ts";
import { userFolders } from "../../src/config/user-folders.ts";
import { createContextFilter, REPOSITORY, readFromRoot } from "./context.ts";
import { copyOf, execOf, type Instruction, parseDockerfile } from "./dockerfile.ts";
import { imageEnv, imagePaths, instructionOf, OTHER_VARIABLES, runtime, sourceOf, stages } from "./image.ts";

const inContext = createContextFilter(readFromRoot(".dockerignore"));

/** Programs of the base image that build steps use. */
const BASE_PROGRAMS = "apt-get groupadd install ln node npm rm useradd userdel".split(" ");

const programsOf = ({ text }: Instruction): string[] =>
  text.split("&&").map((command) => /^\s*(\S+)/.exec(command)?.[1] ?? "");

const packages = runtime.instructions.flatMap(({ name, text }) =>
  name === "RUN"
    ? [...text.matchAll(/apt-get install ([^&]*)/g)].flatMap(([, list = ""]) =>
        list.split(/\s+/).filter((word) => word !== "" && !word.startsWith("-")),
      )
    : [],
);

const contextCopies = stages
  .flatMap(({ instructions }) => instructions)
  .filter(({ name }) => name === "COPY")
  .map(copyOf)
  .filter(({ from }) => from === undefined)
  .flatMap(({ sources }) => sources);

describe("REQ-P2: the Dockerfile", () => {
  test("has a stage that builds and one that runs, from the same small image of Node 24", () => {
    expect(stages.map(({ name }) => name)).toEqual(["build", undefined]);
    expect(new Set(stages.map(({ image }) => image))).toEqual(new Set(["node:24-bookworm-slim"]));
  });

  test.each(contextCopies)("copies what exists and reaches the build: %s", (source) => {
    expect(existsSync(join(REPOSITORY, source))).toBe(true);
    const isFile = statSync(join(REPOSITORY, source)).isFile();
    expect(inContext(isFile ? source : `${source}/anything`)).toBe(true);
  });

  test("copies from stages that stand above", () => {
    const copies = runtime.instructions.filter(({ name }) => name === "COPY").map(copyOf);
    expect(copies.flatMap(({ from }) => from ?? [])).toEqual(["build", "build", "build"]);
  });

  test("each step's program is there when it runs", () => {
    const used = stages.flatMap(({ instructions }) =>
      instructions.filter(({ name }) => name === "RUN").flatMap(programsOf),
    );
    expect(used.length).toBeGreaterThan(8);
    expect(used.filter((program) => !BASE_PROGRAMS.includes(program))).toEqual([]);
  });

  test("runs scripts of package.json that exist, on files copied before", () => {
    const { scripts } = JSON.parse(readFromRoot("package.json")) as { scripts: Record<string, string> };
    const [build] = stages;
    const steps = build?.instructions ?? [];
    const script = steps.flatMap(({ text }) => /npm run (\S+)/.exec(text)?.[1] ?? []);
    expect(script.map((name) => scripts[name])).toEqual([
      expect.stringContaining("tsc -p tsconfig.build.json"),
    ]);
    const before = steps.slice(
      0,
      steps.findIndex(({ text }) => text.includes("npm run")),
    );
    const copied = before.filter(({ name }) => name === "COPY").flatMap((step) => copyOf(step).sources);
    expect(copied).toEqual(
      expect.arrayContaining(["tsconfig.json", "tsconfig.build.json", "src", "package.json"]),
    );
  });

  test("has what the published package has, compiled, and not the sources, which the launcher would prefer", () => {
    const { files } = JSON.parse(readFromRoot("package.json")) as { files: string[] };
    const missing = [...files, "package.json", "node_modules"].filter(
      (file) => sourceOf(`/opt/llmc/${file}`) === undefined,
    );
    expect(missing).toEqual([]);
    expect(sourceOf("/opt/llmc/src/main.ts")).toBeUndefined();
  });

  test("starts files that it has, with an init as the first process", () => {
    const [init, dashes, program] = execOf({ name: "", line: 0, text: instructionOf(runtime, "ENTRYPOINT") });
    expect([init, dashes]).toEqual(["/usr/bin/tini", "--"]);
    expect(packages).toContain("tini");
    const source = sourceOf(program ?? "") ?? "";
    expect(statSync(join(REPOSITORY, source)).mode & 0o111).toBe(0o111);
    const [node, script] = execOf({ name: "", line: 0, text: instructionOf(runtime, "HEALTHCHECK") });
    expect(node).toBe("node");
    expect(existsSync(join(REPOSITORY, sourceOf(script ?? "") ?? "missing"))).toBe(true);
    expect(existsSync(join(REPOSITORY, sourceOf(imageEnv.get("LLMC_CONFIG") ?? "") ?? "missing"))).toBe(true);
  });

  test("has bubblewrap, git and the programs of the default allowlist, except a test runner", () => {
    // Of the Debian packages coreutils, findutils, grep and diffutils, which every image has.
    const always = "ls cat head tail wc stat find grep sort uniq diff".split(" ");
    const provided = new Set([...always, ...packages.map((name) => (name === "ripgrep" ? "rg" : name))]);
    const allowed = ENTRIES.get("mcp.tools.run_cmd_allowlist")?.option.default as readonly string[];
    expect(allowed.filter((program) => !provided.has(program))).toEqual(["pytest"]);
    expect(packages).toEqual(expect.arrayContaining(["bubblewrap", "ca-certificates"]));
  });

  test("runs as a number, not as root: Kubernetes cannot judge a name", () => {
    expect(instructionOf(runtime, "USER")).toBe("1000:1000");
    const after = runtime.instructions.findIndex(({ name }) => name === "USER");
    expect(runtime.instructions.slice(after).filter(({ name }) => ["RUN", "COPY"].includes(name))).toEqual(
      [],
    );
  });

  test("sets only variables that the program knows, and no secret", () => {
    const known = new Set([...ENTRIES.values()].map(({ variable }) => variable).concat(OTHER_VARIABLES));
    const ours = [...imageEnv.keys()].filter((name) => name.startsWith("LLMC_"));
    expect(ours.filter((name) => !known.has(name))).toEqual([]);
    expect(ours).not.toContain("LLMC_MCP_TOKEN");
    expect(instructionOf(runtime, "EXPOSE")).toBe(imageEnv.get("LLMC_MCP_SERVER_PORT"));
    expect(instructionOf(runtime, "STOPSIGNAL")).toBe("SIGTERM");
    expect(instructionOf(runtime, "VOLUME")).toBe('["/app/.llmc", "/var/lib/llmc"]');
    const folders = userFolders(Object.fromEntries(imageEnv), "/tmp");
    expect(folders).toMatchObject({ config: "/etc/llmc", state: "/var/lib/llmc" });
    expect(
      runtime.instructions.some(({ text }) =>
        /install -d -m 0700 .*\/app\/\.llmc \/var\/lib\/llmc/.test(text),
      ),
    ).toBe(true);
  });
});

describe("REQ-P2: what reaches the build", () => {
  test.each([
    ".env",
    ".git/config",
    ".llmc/token",
    "src/.llmc/state.db",
    "node_modules/zod/index.js",
    "dist/main.js",
    "llmc.toml",
    "deploy/compose.yaml",
    "test/doors/te.test.ts",
    "test/app.ts",
  ])("not %s", (path) => {
    expect(inContext(path)).toBe(false);
  });

  test("everything in the repository's root that is not named stays out", () => {
    const out = readdirSync(REPOSITORY).filter((name) => !inContext(name));
    expect(out).toEqual(expect.arrayContaining([".git", "node_modules", "test", "docs"]));
    expect([...imagePaths.keys()].filter((target) => !/^\/(opt|etc)\/llmc(\/|$)/.test(target))).toEqual([]);
  });
});

describe("the reader of Dockerfiles", () => {
  test("refuses an argument that nobody has set, and a line that is no instruction", () => {
    expect(() => parseDockerfile(`FROM a\nRUN x \${Y}\n`)).toThrow("Dockerfile:2: Y is not set above");
    expect(() => parseDockerfile("FROM a\nwhat\n")).toThrow("Dockerfile:2");
  });

  test("joins lines, passes over comments between them, and hands arguments down", () => {
    const [stage] = parseDockerfile(`ARG V=1\nFROM a:\${V} AS b\nARG V\nRUN x \\\n# why\n && y \${V}\n`);
    expect(stage).toEqual({
      image: "a:1",
      name: "b",
      instructions: [
        { name: "ARG", text: "V", line: 3 },
        { name: "RUN", text: "x  && y 1", line: 4 },
      ],
    });
  });
});
