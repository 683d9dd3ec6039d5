import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { constants, tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { descriptorOf, listenForAnother } from "../../net/link-sockets.ts";
import { callNumber } from "../../os/system-calls.ts";
import type { Confined, ConfinedLimits } from "../contract.ts";
import { programFolder } from "../landlock-rules.ts";
import { inProgramFile } from "../program-file.ts";
import { type ConfinementOptions, type Executable, startProcess } from "../start-process.ts";
import { buildProgram, type Datum, type SystemCall } from "../system-call-program.ts";
import { type Attempt, attemptsOn, numberOf, type Targets } from "./attempts.ts";

export interface AttemptResult {
  readonly kind: Attempt["kind"];
  readonly name: string;
  readonly isRefused: boolean;
  /** The kernel's error, or "allowed". */
  readonly answer: string;
}

/** As in a front: the listener of its link, and, over HTTP, that of its clients. */
const [LINK, LISTENER] = [3, 4];
const DESCRIPTORS = 256;

const { EPERM, EACCES, ENOSYS, ENOENT, EBADF, EROFS } = constants.errno;
const REFUSALS: readonly number[] = [EPERM, EACCES, ENOSYS, EROFS];

/** What is not in its mount namespace is not there; and a descriptor that cannot be is a bad one. */
const alsoRefuses = ({ name, isFinal }: Attempt): readonly number[] => {
  if (isFinal === true) return [EBADF];
  return name.startsWith("read ") ? [ENOENT] : [];
};

const errorName = (errno: number): string =>
  Object.entries(constants.errno).find(([, number]) => number === errno)?.[0] ?? `errno ${errno}`;

const judge = (attempt: Attempt, result: number): AttemptResult => {
  const { kind, name } = attempt;
  const isRefused = [...REFUSALS, ...alsoRefuses(attempt)].includes(-result);
  return { kind, name, isRefused, answer: result >= 0 ? "allowed" : errorName(-result) };
};

/** A program that makes each call, whatever the kernel answers, and writes all answers to its standard output. */
const attemptProgram = (attempts: readonly Attempt[]): Buffer => {
  const answers: Datum = { bytes: Buffer.alloc(4 * attempts.length) };
  const calls: SystemCall[] = attempts.map(({ name, call, args }, index) => ({
    step: name,
    number: numberOf(call),
    args,
    result: { into: answers, at: 4 * index },
    isOptional: true,
  }));
  return buildProgram(
    [
      ...calls,
      { step: "write", number: callNumber("write"), args: [1, answers, answers.bytes.length] },
      { step: "exit", number: callNumber("exit_group"), args: [0] },
    ],
    2,
  );
};

const readAnswers = (attempts: readonly Attempt[], bytes: Buffer): readonly AttemptResult[] => {
  // A fork that succeeded would write twice; the last answers are those of the first process, which has them all.
  if (bytes.length < 4 * attempts.length) throw new Error("The attempts ended early.");
  return attempts.map((attempt, index) => judge(attempt, bytes.readInt32LE(4 * index)));
};

/** A program of system calls, in a file, as something that can be confined. */
export const callsExecutable = (
  file: string,
  limits: ConfinedLimits,
  stdio: NonNullable<Executable["wanted"]["stdio"]>,
): Executable => ({
  wanted: { limits, stdio },
  files: { file: realpathSync.native(file), libraries: [], libraryFolders: [] },
  resolved: { program: file, readable: [] },
  plan: (boundByData) => ({
    argv: [file],
    dataMb: boundByData ? limits.memoryMb : undefined,
    isExact: true,
  }),
});

interface Scene {
  /** Descriptors. */
  readonly listener: number;
  readonly link: number;
  readonly targets: (program: string) => Targets;
  close(): void;
}

/** What there is to attack: a file, a process and sockets of this user. */
const openScene = async (): Promise<Scene> => {
  const folder = realpathSync.native(mkdtempSync(join(tmpdir(), "llmc-self-test-")));
  const file = join(folder, "file.txt");
  writeFileSync(file, "not for the front");
  const victim = spawn("sleep", ["600"], { stdio: "ignore", env: { PATH: "/usr/bin:/bin" } });
  const server = createServer().listen(0, "127.0.0.1");
  const socketPath = join(folder, "other.sock");
  const other = createServer().listen(socketPath);
  const [link] = await Promise.all([
    listenForAnother(join(folder, "link.sock")),
    once(server, "listening"),
    once(other, "listening"),
    once(victim, "spawn"),
  ]);
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return {
    listener: descriptorOf(server),
    link: link.descriptor,
    targets: (program) => ({
      file,
      program,
      pid: victim.pid ?? 0,
      listener: LISTENER,
      port,
      link: LINK,
      socketPath,
      descriptors: DESCRIPTORS,
    }),
    close: () => {
      victim.kill("SIGKILL");
      server.close();
      other.close();
      link.release();
      rmSync(folder, { recursive: true, force: true });
    },
  };
};

export interface AttemptsReport extends Pick<Confined, "tier" | "held"> {
  readonly results: readonly AttemptResult[];
}

/** Tries everything that is forbidden, from inside. */
export const runAttempts = async (
  limits: ConfinedLimits,
  options: ConfinementOptions = {},
  selects: (attempt: Attempt) => boolean = () => true,
): Promise<AttemptsReport> => {
  const scene = await openScene();
  try {
    const attemptsIn = (file: string): readonly Attempt[] => attemptsOn(scene.targets(file)).filter(selects);
    return await inProgramFile(
      programFolder(),
      (file) => attemptProgram(attemptsIn(file)),
      async (file) => {
        const stdio: NonNullable<Executable["wanted"]["stdio"]> = [
          "ignore",
          "pipe",
          "ignore",
          scene.link,
          scene.listener,
        ];
        const executable = callsExecutable(file, { ...limits, descriptors: DESCRIPTORS }, stdio);
        const confined = await startProcess(executable, options);
        const output = await buffer(confined.child.stdout as Readable);
        await confined.gone;
        const { tier, held } = confined;
        return { tier, held, results: readAnswers(attemptsIn(file), output) };
      },
    );
  } finally {
    scene.close();
  }
};
