import { execFile } from "node:child_process";
import { access, constants, readFile, readlink } from "node:fs/promises";
import { promisify } from "node:util";
import { SYSTEM_PATH } from "./system-programs.ts";

const run = promisify(execFile);

/** First line that a program prints about its version, or undefined where it is not installed. */
export const versionOf = async (program: string): Promise<string | undefined> => {
  try {
    const env = { PATH: SYSTEM_PATH.join(":") };
    const { stdout } = await run(program, ["--version"], { env, timeout: 5000, killSignal: "SIGKILL" });
    return stdout.split("\n")[0]?.trim();
  } catch {
    return undefined;
  }
};

const readSmall = async (path: string): Promise<string> => {
  try {
    return (await readFile(path, "utf8")).trim();
  } catch {
    return "";
  }
};

/** Whether a descriptor's real path can be read, which race-free file access rests on. */
export const descriptorsHavePaths = async (): Promise<boolean> => {
  try {
    await readlink("/proc/self/fd/0");
    return true;
  } catch {
    return false;
  }
};

export const isWritable = async (path: string): Promise<boolean> => {
  try {
    await access(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
};

/** Watches that this user may hold; a large workspace needs many. Undefined where the system has no such limit. */
export const watchLimit = async (): Promise<number | undefined> => {
  const text = await readSmall("/proc/sys/fs/inotify/max_user_watches");
  return text === "" ? undefined : Number(text);
};
