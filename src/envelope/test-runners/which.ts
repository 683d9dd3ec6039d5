import { baseName } from "../../base/paths.ts";
import { parseCargo } from "./cargo.ts";
import type { ParseTests } from "./contract.ts";
import { parseGo } from "./go.ts";
import { parseJest } from "./jest.ts";
import { parseNodeTest } from "./node-test.ts";
import { parsePytest } from "./pytest.ts";
import { parseVitest } from "./vitest.ts";

/** Programs that only start another program, whose name follows these arguments. */
const PREFIXES: Readonly<Record<string, readonly string[]>> = {
  npx: [""],
  bunx: [""],
  pnpx: [""],
  uvx: [""],
  uv: ["run"],
  poetry: ["run"],
  pdm: ["run"],
  hatch: ["run"],
  pipenv: ["run"],
  pnpm: ["exec", "dlx"],
  yarn: ["exec", "dlx"],
  npm: ["exec", "x"],
};

const skipOptions = (args: readonly string[]): readonly string[] => {
  const at = args.findIndex((arg) => !arg.startsWith("-"));
  return at < 0 ? [] : args.slice(at);
};

const JS_PARSERS: readonly ParseTests[] = [parseVitest, parseJest, parseNodeTest];

const SCRIPT_RUNNERS = new Set(["npm", "pnpm", "yarn", "bun"]);

const isTestScript = (args: readonly string[]): boolean => {
  const [first = "", second = ""] = skipOptions(args);
  const script = first === "run" || first === "run-script" ? second : first;
  return script === "t" || script === "tst" || /^test(?:$|[:\-_])/.test(script);
};

/** Options by which pytest runs no test: it lists what there is. */
const LISTS =
  /^(?:--co|--collect-only|--fixtures|--funcargs|--fixtures-per-test|--markers|--setup-plan|--setup-only|--help|-h|--version|-V)$/;

const pytestParsers = (args: readonly string[]): readonly ParseTests[] =>
  args.some((arg) => LISTS.test(arg)) ? [] : [parsePytest];

const byProgram = (name: string, rest: readonly string[]): readonly ParseTests[] => {
  if (name === "pytest" || name === "py.test") return pytestParsers(rest);
  if (/^(?:python|pypy)[\d.]*$/.test(name)) {
    const at = rest.indexOf("-m");
    return at >= 0 && /^(?:pytest|py\.test)$/.test(rest[at + 1] ?? "")
      ? pytestParsers(rest.slice(at + 2))
      : [];
  }
  if (/^vitest(?:\.mjs)?$/.test(name)) return [parseVitest];
  if (/^jest(?:\.js)?$/.test(name) || name === "react-scripts") return [parseJest];
  if (name === "cargo") {
    const [command = ""] = rest.filter((arg) => !/^[-+]/.test(arg));
    return /^(?:test|t|nextest)$/.test(command) ? [parseCargo] : [];
  }
  return name === "go" && rest[0] === "test" ? [parseGo] : [];
};

/** The parsers for the output of a command, if it is clearly a test run. */
export const parsersFor = (argv: readonly string[]): readonly ParseTests[] => {
  const [program = "", ...rest] = argv;
  const name = baseName(program);
  const starts = PREFIXES[name];
  if (SCRIPT_RUNNERS.has(name) && isTestScript(rest)) return [...JS_PARSERS, parsePytest];
  if (starts !== undefined) {
    const args = skipOptions(rest);
    const inner = starts.includes("")
      ? args
      : starts.includes(args[0] ?? "")
        ? skipOptions(args.slice(1))
        : [];
    return inner.length === 0 ? [] : parsersFor(inner);
  }
  if (name === "node" || name === "nodejs") {
    if (rest.includes("--test")) return [parseNodeTest];
    const [script = "", ...others] = skipOptions(rest);
    return script.includes("/") ? byProgram(baseName(script), others) : [];
  }
  return byProgram(name, rest);
};
