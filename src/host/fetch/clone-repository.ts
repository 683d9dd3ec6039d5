import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LlmcError } from "../../base/error.ts";
import { stopIfAborted } from "../../base/stop-if-aborted.ts";
import { checkDownloadUrl, type DownloadRules, judgedAddresses } from "../net/download.ts";
import { type CommandStarter, createCommandRunner } from "../run/runner.ts";
import { startGit } from "./git-process.ts";
import { findGit, REVISION } from "./git-tree.ts";

export interface Clone extends AsyncDisposable {
  readonly path: string;
}

/** A repository holds many documents, each of which could take its time. */
const TIMES = 20;

const HEAD = "HEAD";

type Settings = readonly (readonly [string, string])[];

/** The settings that bind git to what was judged: these addresses, no redirects, no proxy, no keys of the user. */
const settingsFor = (url: URL, addresses: readonly string[]): Settings => {
  const port = url.port === "" ? (url.protocol === "https:" ? "443" : "80") : url.port;
  return [
    ["http.curloptResolve", `${url.hostname}:${port}:${addresses.join(",")}`],
    ["http.followRedirects", "false"],
    ["http.proxy", ""],
    ["credential.helper", ""],
    ["transfer.fsckObjects", "true"],
  ];
};

interface Run {
  readonly code: number | null;
  readonly output: string;
}

type RunGit = (args: readonly string[], settings?: Settings) => Promise<Run>;

const MAX_OUTPUT_CHARS = 1000;

/** Runs git in a folder that it may fill, until it ends, takes too long or nobody waits any more. */
const createRunGit = (
  runner: CommandStarter,
  folder: string,
  timeoutMs: number,
  signal?: AbortSignal,
): RunGit => {
  const program = findGit();
  return async (args, settings) => {
    stopIfAborted(signal);
    const git = await startGit(runner, program, { args, cloneInto: folder, settings });
    const end = (): void => void git.kill();
    const timer = setTimeout(end, timeoutMs);
    signal?.addEventListener("abort", end, { once: true });
    if (signal?.aborted === true) end();
    let output = "";
    git.onData((chunk) => {
      output = (output + chunk.toString("utf8")).slice(0, MAX_OUTPUT_CHARS);
    });
    const code = await git.ended.finally(() => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end);
    });
    stopIfAborted(signal);
    return { code, output };
  };
};

/** Since this version, git connects to addresses that it is given; an older one would look the name up again. */
const refuseOld = ({ output }: Run): void => {
  const [, major = 0, minor = 0] = /(\d+)\.(\d+)/.exec(output)?.map(Number) ?? [];
  if (major < 2 || (major === 2 && minor < 37))
    throw new LlmcError("unavailable", "Cloning a repository needs git 2.37 or later.");
};

/**
 * Clones one commit of a remote repository into a folder of its own, without its history and without a work tree. It is
 * removed when the caller is done.
 */
export const cloneRepository = async (
  address: string,
  revision: string,
  rules: DownloadRules,
  signal?: AbortSignal,
): Promise<Clone> => {
  const url = checkDownloadUrl(address, rules);
  if (!REVISION.test(revision))
    throw new LlmcError("invalid_args", "That is not the name of a branch or tag.");
  const settings = settingsFor(url, await judgedAddresses(url, rules));
  const folder = realpathSync.native(mkdtempSync(join(tmpdir(), "llmc-clone-")));
  const runner = createCommandRunner({ mode: () => "auto" });
  const remove = async (): Promise<void> => {
    await runner[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true, force: true });
  };
  const path = join(folder, "repository.git");
  const branch = revision === HEAD ? [] : [`--branch=${revision}`];
  const args = ["clone", "--bare", "--quiet", "--depth=1", "--template=", ...branch, "--", url.href, path];
  try {
    const run = createRunGit(runner, folder, rules.timeoutMs * TIMES, signal);
    refuseOld(await run(["version"]));
    const { code } = await run(args, settings);
    if (code !== 0)
      throw new LlmcError("unavailable", "The repository could not be cloned.", {
        hint: "It may need a password, redirect, or have no such branch or tag; a commit hash is not accepted.",
      });
    return { path, [Symbol.asyncDispose]: remove };
  } catch (thrown) {
    await remove();
    throw thrown;
  }
};
