import { posix } from "node:path";
import { LlmcError } from "../../../base/error.ts";
import type { Access } from "../../reach/access.ts";

interface FileStatus {
  readonly isDirectory: () => boolean;
  readonly isFile: () => boolean;
  readonly size: number | bigint;
  readonly mode: number | bigint;
}

const FILE_TESTS: ReadonlyMap<string, (status: FileStatus) => boolean> = new Map<
  string,
  (status: FileStatus) => boolean
>([
  ["-e", () => true],
  ["-r", () => true],
  ["-f", (status) => status.isFile()],
  ["-d", (status) => status.isDirectory()],
  ["-s", (status) => status.size > 0],
  ["-x", (status) => (Number(status.mode) & 0o111) !== 0],
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
  if (!/^\s*[-+]?\d{1,30}\s*$/.test(text)) throw badTest("a comparison of numbers has something else");
  return BigInt(text.trim().replace(/^\+/, ""));
};

interface Reader {
  readonly args: readonly string[];
  at: number;
  readonly status: (path: string) => Promise<FileStatus | undefined>;
}

const readPrimary = async (reader: Reader): Promise<boolean> => {
  const [first, second, third] = reader.args.slice(reader.at);
  if (first === undefined) throw badTest("something is missing at its end");
  const comparison = second === undefined ? undefined : COMPARISONS.get(second);
  if (comparison !== undefined && third !== undefined) {
    reader.at += 3;
    return comparison(first, third);
  }
  if (second === undefined || second === "-a" || second === "-o") {
    reader.at++;
    return first !== "";
  }
  reader.at += 2;
  const textTest = TEXT_TESTS.get(first);
  if (textTest !== undefined) return textTest(second);
  const fileTest = FILE_TESTS.get(first);
  if (fileTest === undefined) throw badTest("it has an operator that is not known here");
  const status = await reader.status(second);
  return status !== undefined && fileTest(status);
};

const readNot = async (reader: Reader): Promise<boolean> => {
  if (reader.args[reader.at] !== "!" || reader.at + 1 >= reader.args.length) return readPrimary(reader);
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

/** `test` and `[ … ]`: a file is asked for its status within the roots, and nothing is started. */
export const evaluateTest = async (
  args: readonly string[],
  cwd: string,
  access: Access,
  signal: AbortSignal | undefined,
): Promise<boolean> => {
  if (args.length === 0) return false;
  const status = (path: string): Promise<FileStatus | undefined> =>
    access(posix.resolve(cwd, path), signal, ({ stats }): FileStatus => stats).catch((thrown: unknown) => {
      if (thrown instanceof LlmcError && thrown.code === "file_not_found") return undefined;
      throw thrown;
    });
  const reader: Reader = { args, at: 0, status };
  const result = await readOr(reader);
  if (reader.at < args.length) throw badTest("two conditions stand side by side");
  return result;
};
