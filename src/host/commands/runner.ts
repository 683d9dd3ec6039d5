import { constants } from "node:fs";
import { access, stat } from "node:fs/promises";
import { LlmcError } from "../../base/error.ts";
import { stopIfAborted } from "../stop-if-aborted.ts";
import { bubblewrapLaunch, ranInside, sharesTemp } from "./bubblewrap.ts";
import type { CommandGround, CommandOutcome, CommandRequest, CommandRunner, Tier } from "./contract.ts";
import { landlockLaunch } from "./landlock.ts";
import { createMark } from "./limits.ts";
import { plainLaunch } from "./plain.ts";
import { createPrivatePlaces, type PrivatePlace } from "./private-place.ts";
import { type Launch, runTree, type TreeOutcome } from "./process-tree.ts";
import { watchMissing } from "./protected-names.ts";
import { sealDescriptors } from "./seal-descriptors.ts";

export type SandboxMode = "auto" | "require" | "off";

export interface RunnerOptions {
  /** Read at every call: it can change while the server runs. */
  readonly mode: () => SandboxMode;
  /** Tiers to try, best first; for machines whose best tier is to be passed over. */
  readonly tiers?: readonly Tier[];
  /** Treat Landlock as if the kernel were older. */
  readonly maxLandlockAbi?: number;
}

const ALL_TIERS: readonly Tier[] = ["bubblewrap", "landlock", "plain"];

const checkRequest = async ({ argv, cwd }: CommandRequest): Promise<void> => {
  const folder = await stat(cwd).catch(() => undefined);
  if (folder?.isDirectory() !== true)
    throw new LlmcError("not_a_directory", "The working directory is not a directory.", {
      details: { field: "cwd" },
    });
  const program = await stat(argv[0]).catch(() => undefined);
  if (program === undefined) throw new LlmcError("file_not_found", "The program is no longer there.");
  const isExecutable =
    program.isFile() &&
    (await access(argv[0], constants.X_OK).then(
      () => true,
      () => false,
    ));
  if (!isExecutable) throw new LlmcError("permission_denied", "The program is not an executable file.");
};

const ENOENT = 2;
const EACCES = 13;

const cannotStart = (errno: number | undefined, cause: string): LlmcError => {
  if (errno === ENOENT)
    return new LlmcError("file_not_found", "The program, or the interpreter it names, is not there.", {
      hint: "In the sandbox, only the system's folders, the workspace and the program's own tool chain are visible.",
      cause,
    });
  if (errno === EACCES)
    return new LlmcError("permission_denied", "The program, or its interpreter, cannot be executed.", {
      cause,
    });
  return new LlmcError("unavailable", "The command's sandbox could not be set up.", {
    hint: "Run `llmc doctor` to see which sandbox this machine has.",
    cause,
  });
};

const BWRAP_ERRNO: Readonly<Record<string, number>> = {
  "No such file or directory": ENOENT,
  "Permission denied": EACCES,
};

/** A launcher that failed before the program ran is our failure, not the command's. */
const checkStarted = (tier: Tier, outcome: TreeOutcome, wasEnded: boolean): void => {
  if (wasEnded || tier === "plain") return;
  if (tier === "bubblewrap" && !ranInside(outcome.report)) {
    const said = outcome.stderr.toString("utf8", 0, 2000);
    const why = /bwrap: execvp .*: (.*)$/m.exec(said)?.[1] ?? "";
    throw cannotStart(BWRAP_ERRNO[why], said);
  }
  if (tier === "landlock" && outcome.report !== "") {
    const { step, errno } = JSON.parse(outcome.report) as { step: string; errno: number };
    throw cannotStart(step === "execve" ? errno : undefined, outcome.report);
  }
};

const systemErrno = (thrown: unknown): number | undefined => {
  const code = thrown instanceof Error && "code" in thrown ? thrown.code : undefined;
  return code === "ENOENT" ? ENOENT : code === "EACCES" ? EACCES : undefined;
};

/** Runs commands in the best tier that works here; the caller has judged them before. */
export const createCommandRunner = (options: RunnerOptions): CommandRunner & AsyncDisposable => {
  const order = options.tiers ?? ALL_TIERS;
  let places: ReturnType<typeof createPrivatePlaces> | undefined;
  let best: Promise<Tier> | undefined;

  const launchFor = (
    tier: Tier,
    request: CommandRequest,
    ground: CommandGround,
    place: PrivatePlace,
  ): Launch => {
    const mark = createMark();
    if (tier === "bubblewrap") return bubblewrapLaunch(request, ground, place, mark);
    if (tier === "landlock") return landlockLaunch(request, ground, place, mark, options.maxLandlockAbi);
    return plainLaunch(request, place, mark);
  };

  const runIn = async (
    tier: Tier,
    request: CommandRequest,
    ground: CommandGround,
    signal: AbortSignal | undefined,
  ): Promise<CommandOutcome> => {
    if (places === undefined) sealDescriptors();
    places ??= createPrivatePlaces();
    const needsFolders = tier !== "bubblewrap" || sharesTemp(ground);
    const place = await (await places).open(needsFolders);
    const missing = await watchMissing(ground);
    try {
      const { timeoutMs, maxOutputBytes } = request;
      const launch = launchFor(tier, request, ground, place);
      const outcome = await runTree(launch, { timeoutMs, maxOutputBytes, signal }).catch(
        (thrown: unknown) => {
          const errno = systemErrno(thrown);
          throw errno === undefined ? thrown : cannotStart(errno, String(thrown));
        },
      );
      const setAside = await missing.setAside();
      stopIfAborted(signal);
      checkStarted(tier, outcome, outcome.timedOut);
      const { report: _, ...told } = outcome;
      return { ...told, tier, setAside };
    } finally {
      if (needsFolders) await (await places).close(place);
    }
  };

  /** Installed is not enough in many containers: only a real run tells. */
  const works = async (tier: Tier): Promise<boolean> => {
    if (tier === "plain") return true;
    const request = {
      argv: ["/bin/sh", "-c", "exit 7"],
      cwd: "/",
      timeoutMs: 10_000,
      maxOutputBytes: 4096,
    } as const;
    const ground = { writable: [], readOnly: [], hidden: [], network: false };
    const outcome = await runIn(tier, request, ground, undefined).catch(() => undefined);
    return outcome?.exitCode === 7;
  };

  const findBest = async (): Promise<Tier> => {
    for (const tier of order) if (await works(tier)) return tier;
    return "plain";
  };

  const tier = async (): Promise<Tier> => {
    if (options.mode() === "off") return "plain";
    best ??= findBest();
    const found = await best;
    if (found === "plain" && options.mode() === "require")
      throw new LlmcError(
        "unavailable",
        "Commands must run in a sandbox, and this machine has none that works.",
        {
          hint: "Install bubblewrap and allow user namespaces, or use a kernel with Landlock (5.13 or later).",
        },
      );
    return found;
  };

  return {
    tier,
    run: async (request, ground, signal) => {
      stopIfAborted(signal);
      await checkRequest(request);
      return runIn(await tier(), request, ground, signal);
    },
    [Symbol.asyncDispose]: async () => {
      if (places !== undefined) await (await places).dispose();
    },
  };
};
