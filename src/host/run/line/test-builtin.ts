import { accessSync, constants } from "node:fs";
import { LlmcError } from "../../../base/error.ts";
import type { Access } from "../../reach/access.ts";
import type { Located } from "../../reach/located.ts";
import type { Reach } from "../../reach/reach.ts";
import { isAbsent, physicalPath } from "./physical-path.ts";

interface FileStatus {
  readonly isDirectory: () => boolean;
  readonly isFile: () => boolean;
  readonly size: number;
  readonly isReadable: boolean;
  readonly isExecutable: boolean;
}

const FILE_TESTS: ReadonlyMap<string, (status: FileStatus) => boolean> = new Map<
  string,
  (status: FileStatus) => boolean
>([
  ["-e", () => true],
  ["-r", (status) => status.isReadable],
  ["-f", (status) => status.isFile()],
  ["-d", (status) => status.isDirectory()],
  ["-s", (status) => status.size > 0],
  ["-x", (status) => status.isExecutable],
]);

const TEXT_TESTS: ReadonlyMap<string, (text: string) => boolean> = new Map([
  ["-n", (text) => text !== ""],
  ["-z", (text) => text === ""],
]);

const COMPARISONS: ReadonlyMap<string, (left: string, right: string) => boolean> = new Map([
  ["=", (left, right) => left === right],
  ["==", (left, right) => left === right],
  ["!=", (left, right) => left !== right],
  ["-eq", (left, right) => toInteger(left) === toInteger(right)],
  ["-ne", (left, right) => toInteger(left) !== toInteger(right)],
  ["-lt", (left, right) => toInteger(left) < toInteger(right)],
  ["-le", (left, right) => toInteger(left) <= toInteger(right)],
  ["-gt", (left, right) => toInteger(left) > toInteger(right)],
  ["-ge", (left, right) => toInteger(left) >= toInteger(right)],
]);

const badTest = (what: string): LlmcError =>
  new LlmcError("invalid_args", `The test cannot be read: ${what}.`, {
    hint: `Known are ${[...FILE_TESTS.keys(), ...TEXT_TESTS.keys(), ...COMPARISONS.keys()].join(" ")}, !, -a and -o.`,
    details: { field: "command" },
  });

const toInteger = (text: string): bigint => {
  if (!/^\s*[-+]?\d{1,18}\s*$/.test(text)) throw badTest("a comparison of numbers has something else");
  return BigInt(text.trim().replace(/^\+/, ""));
};

interface Reader {
  readonly args: readonly string[];
  at: number;
  readonly status: (path: string) => Promise<FileStatus | undefined>;
}

/** Comparisons of bash that are not known here: they would be read as something else. */
const OTHER_COMPARISONS = new Set(["<", ">", "=~", "-nt", "-ot", "-ef"]);

const compareWith = (operator: string): ((left: string, right: string) => boolean) | undefined => {
  if (OTHER_COMPARISONS.has(operator)) throw badTest("it has a comparison that is not known here");
  return COMPARISONS.get(operator);
};

const testOne = async (operator: string, operand: string, status: Reader["status"]): Promise<boolean> => {
  const textTest = TEXT_TESTS.get(operator);
  if (textTest !== undefined) return textTest(operand);
  const fileTest = FILE_TESTS.get(operator);
  if (fileTest === undefined) throw badTest("it has an operator that is not known here");
  const found = await status(operand);
  return found !== undefined && fileTest(found);
};

const readPrimary = async (reader: Reader): Promise<boolean> => {
  const [first, second, third] = reader.args.slice(reader.at);
  if (first === undefined) throw badTest("something is missing at its end");
  const comparison = second === undefined || third === undefined ? undefined : compareWith(second);
  if (comparison !== undefined && third !== undefined) {
    reader.at += 3;
    return comparison(first, third);
  }
  if (second === undefined || second === "-a" || second === "-o") {
    if (/^(?:-.|[!()])$/.test(first)) throw badTest(`${first} may be an operator or a text`);
    reader.at++;
    return first !== "";
  }
  reader.at += 2;
  return testOne(first, second, reader.status);
};

const readNot = async (reader: Reader): Promise<boolean> => {
  if (reader.args[reader.at] !== "!") return readPrimary(reader);
  reader.at++;
  return !(await readNot(reader));
};

const readAnd = async (reader: Reader): Promise<boolean> => {
  let result = await readNot(reader);
  while (reader.args[reader.at] === "-a") {
    reader.at++;
    result = (await readNot(reader)) && result;
  }
  return result;
};

const readOr = async (reader: Reader): Promise<boolean> => {
  let result = await readAnd(reader);
  while (reader.args[reader.at] === "-o") {
    reader.at++;
    result = (await readAnd(reader)) || result;
  }
  return result;
};

const readWhole = async (args: readonly string[], status: Reader["status"]): Promise<boolean> => {
  const reader: Reader = { args, at: 0, status };
  const result = await readOr(reader);
  if (reader.at < args.length) throw badTest("two conditions stand side by side");
  return result;
};

/** POSIX goes by the number of arguments up to four, whatever they look like; only more are read as an expression. */
const evaluate = async (args: readonly string[], status: Reader["status"]): Promise<boolean> => {
  const [first = "", second = "", third = ""] = args;
  const isNegated = first === "!";
  if (args.length < 2) return first !== "";
  if (args.length === 2) return isNegated ? second === "" : testOne(first, second, status);
  if (args.length === 3) {
    const comparison = compareWith(second);
    if (comparison !== undefined) return comparison(first, third);
    if (second === "-a") return first !== "" && third !== "";
    if (second === "-o") return first !== "" || third !== "";
  }
  if (args.length <= 4 && isNegated) return !(await evaluate(args.slice(1), status));
  return readWhole(args, status);
};

const allows = (path: string, right: number): boolean => {
  try {
    accessSync(path, right);
    return true;
  } catch {
    return false;
  }
};

/** What is withheld from tools and commands is as good as unreadable for whoever asks before they read. */
const statusOf = ({ stats, realPath, at }: Located, { isWithheld }: Reach): FileStatus => ({
  isDirectory: () => stats.isDirectory(),
  isFile: () => stats.isFile(),
  size: stats.size,
  isReadable: !(stats.isFile() && isWithheld(realPath, stats)) && allows(at, constants.R_OK),
  isExecutable: allows(at, constants.X_OK),
});

/** `test` and `[ … ]`: a file is asked for its status within the roots, and nothing is started. */
export const evaluateTest = (
  args: readonly string[],
  cwd: string,
  access: Access,
  signal: AbortSignal | undefined,
): Promise<boolean> => {
  const status = async (path: string): Promise<FileStatus | undefined> => {
    if (path === "") return undefined;
    try {
      const physical = await physicalPath(access, cwd, path, signal);
      const found = await access(physical, signal, statusOf);
      // A name that ends with a slash means a folder.
      return /\/\.?$/.test(path) && !found.isDirectory() ? undefined : found;
    } catch (thrown) {
      if (isAbsent(thrown)) return undefined;
      throw thrown;
    }
  };
  return evaluate(args, status);
};
