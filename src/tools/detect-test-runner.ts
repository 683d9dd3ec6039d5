import type { TestReport } from "../envelope/test-runners/contract.ts";
import type { Files } from "../host/read/files.ts";

type RunnerName = TestReport["runner"];

export interface TestCommand {
  readonly runner: RunnerName;
  readonly command: readonly [string, ...string[]];
}

export interface Wanted {
  readonly paths: readonly string[];
  readonly args: readonly string[];
}

/** Larger than any real manifest. */
const WHOLE_MANIFEST = { offsetLines: 0, maxLines: 20_000, maxBytes: 1_048_576 };

const readSurroundings = async (files: Files, signal: AbortSignal) => {
  const namesIn = async (folder: string): Promise<readonly string[]> => {
    try {
      return (await files.list(folder, signal)).entries.map(({ name }) => name);
    } catch {
      signal.throwIfAborted();
      return [];
    }
  };
  const names = new Set(await namesIn("."));
  return {
    has: (name: string): boolean => names.has(name),
    names: namesIn,
    /** Empty where there is no such file, or it cannot be read. */
    read: async (name: string): Promise<string> => {
      if (!names.has(name)) return "";
      try {
        return (await files.readText(name, WHOLE_MANIFEST, signal)).text;
      } catch {
        signal.throwIfAborted();
        return "";
      }
    },
  };
};

type Surroundings = Awaited<ReturnType<typeof readSurroundings>>;

const isPythonTest = (name: string): boolean => /^(?:test_.*|.*_test|conftest)\.py$/.test(name);

const usesPytest = async ({ has, read, names }: Surroundings): Promise<boolean> => {
  if (["pytest.ini", ".pytest.ini", "pytest.toml", "conftest.py"].some(has)) return true;
  if (/^\[tool\.pytest\b/m.test(await read("pyproject.toml"))) return true;
  if (/^\[tool:pytest\]/m.test(await read("setup.cfg")) || /^\[pytest\]/m.test(await read("tox.ini")))
    return true;
  for (const folder of [".", "tests", "test"]) if ((await names(folder)).some(isPythonTest)) return true;
  return false;
};

const ENVIRONMENTS = [".venv/bin", "venv/bin"] as const;

/** That of the workspace's environment has the packages that its tests import; otherwise the machine's. */
const findPytest = async ({ has, names }: Surroundings): Promise<string> => {
  for (const folder of ENVIRONMENTS)
    if (has(folder.slice(0, -"/bin".length)) && (await names(folder)).includes("pytest"))
      return `${folder}/pytest`;
  return "pytest";
};

interface Manifest {
  readonly scripts?: Readonly<Record<string, unknown>>;
  readonly dependencies?: Readonly<Record<string, unknown>>;
  readonly devDependencies?: Readonly<Record<string, unknown>>;
}

const readManifest = (text: string): Manifest => {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : {};
  } catch {
    return {};
  }
};

/** What the test script starts, then what is installed for it. */
const findJavaScript = async ({ read }: Surroundings): Promise<RunnerName | undefined> => {
  const { scripts, dependencies, devDependencies } = readManifest(await read("package.json"));
  const script = String(scripts?.["test"] ?? "");
  if (/\bvitest\b/.test(script)) return "vitest";
  if (/\bjest\b/.test(script)) return "jest";
  if (/\bnode\b.*\s--test\b/.test(script)) return "node:test";
  const installed = { ...dependencies, ...devDependencies };
  if ("vitest" in installed) return "vitest";
  return "jest" in installed ? "jest" : undefined;
};

/** The requested paths decide which of several languages is meant. */
const languageOf = (paths: readonly string[]): "python" | "javascript" | "rust" | "go" | undefined => {
  const [path = ""] = paths;
  if (/\.py(?:::|$)/.test(path)) return "python";
  if (/\.[cm]?[jt]sx?$/.test(path)) return "javascript";
  if (path.endsWith(".rs")) return "rust";
  return /\.go$|\.\.\.$/.test(path) ? "go" : undefined;
};

/** cargo takes targets and names of tests, not files. */
const cargoArgs = ({ paths, args }: Wanted): readonly string[] => {
  const targets = paths.flatMap((path) => /^(?:\.\/)?tests\/([^/]+)\.rs$/.exec(path)?.[1] ?? []);
  const names = paths.filter((path) => !/^(?:\.\/)?tests\/[^/]+\.rs$/.test(path));
  const own = args.includes("--") ? args.slice(0, args.indexOf("--")) : args;
  const rest = [...names, ...(args.includes("--") ? args.slice(args.indexOf("--") + 1) : [])];
  return [
    ...own,
    ...targets.flatMap((name) => ["--test", name]),
    ...(rest.length === 0 ? [] : ["--", ...rest]),
  ];
};

/** go takes packages: the folder of a file. */
const goPackages = (paths: readonly string[]): readonly string[] => {
  const packages = paths.map((path) => {
    const folder = path.endsWith(".go") ? path.slice(0, path.lastIndexOf("/") + 1).replace(/\/$/, "") : path;
    return folder.startsWith(".") || folder.startsWith("/") ? folder : `./${folder}`;
  });
  return packages.length === 0 ? ["./..."] : [...new Set(packages)];
};

const commandFor = (runner: RunnerName, wanted: Wanted, pytest: string): readonly [string, ...string[]] => {
  const { paths, args } = wanted;
  switch (runner) {
    case "pytest":
      return [pytest, "--tb=short", "--color=no", ...args, ...paths];
    // Through node itself: npx may load programs from the network.
    case "vitest":
      return ["node", "node_modules/vitest/vitest.mjs", "run", ...args, ...paths];
    case "jest":
      return ["node", "node_modules/jest/bin/jest.js", ...args, ...paths];
    case "node:test":
      return ["node", "--test", ...args, ...paths];
    case "cargo":
      return ["cargo", "test", ...cargoArgs(wanted)];
    case "go":
      return ["go", "test", "-json", ...args, ...goPackages(paths)];
  }
};

/** The test runner of the workspace and how to start it; undefined if no supported runner is found. */
export const detectTestRunner = async (
  files: Files,
  wanted: Wanted,
  signal: AbortSignal,
): Promise<TestCommand | undefined> => {
  const around = await readSurroundings(files, signal);
  const found = {
    python: async () => ((await usesPytest(around)) ? ("pytest" as const) : undefined),
    javascript: () => findJavaScript(around),
    rust: async () => (around.has("Cargo.toml") ? ("cargo" as const) : undefined),
    go: async () => (around.has("go.mod") ? ("go" as const) : undefined),
  };
  const meant = languageOf(wanted.paths);
  const runner =
    (meant === undefined ? undefined : await found[meant]()) ??
    (await found.python()) ??
    (await found.javascript()) ??
    (await found.rust()) ??
    (await found.go());
  if (runner === undefined) return undefined;
  const pytest = runner === "pytest" ? await findPytest(around) : runner;
  return { runner, command: commandFor(runner, wanted, pytest) };
};
