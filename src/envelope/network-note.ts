import { constants } from "node:os";
import { usualPowers } from "../policy/commands.ts";
import type { Launched } from "./launch.ts";
import type { Output } from "./output.ts";

/** How programs say that nobody answered: errno names, and the words of libc, curl, git, Python, Go, Rust and Java. */
const UNREACHABLE =
  /\b(?:ECONNREFUSED|ENOTFOUND|EAI_AGAIN|ENETUNREACH|EHOSTUNREACH|UnknownHostException)\b|connection refused|could ?n[o']t (?:resolve host|connect to server)|name or service not known|temporary failure in name resolution|network is unreachable|failed to (?:resolve|lookup address|establish a new connection)|nodename nor servname/i;

/** Programs that say nothing while they try again and again. */
const FETCHING: Readonly<Record<string, RegExp>> = {
  npm: /^(?:i|install|ci|add|update|view|publish|audit|outdated)$/,
  pnpm: /^(?:i|install|add|update)$/,
  yarn: /^(?:install|add|upgrade)$/,
  pip: /^(?:install|download)$/,
  pip3: /^(?:install|download)$/,
  uv: /^(?:sync|add|pip)$/,
  cargo: /^(?:fetch|install|update)$/,
  git: /^(?:clone|fetch|pull|push|ls-remote)$/,
};

/** More than an error message needs. */
const READ_CHARS = 100_000;

const isFetching = ({ programs, sole }: Launched): boolean => {
  const [program = "", ...args] = sole ?? [];
  const name = program.slice(program.lastIndexOf("/") + 1);
  return programs.length === 1 && args.some((arg) => FETCHING[name]?.test(arg) === true);
};

/** Ended by a signal because the next program of the pipe had read enough. */
const STOPPED_READING = 128 + constants.signals.SIGPIPE;

/** Where no network is, only the loopback refuses. */
const REFUSED = /\bECONNREFUSED\b|connection refused/i;
const LOCAL = /\blocalhost\b|\b127\.\d+\.\d+\.\d+|(?<![\w:])::1(?![\w:])|\b0\.0\.0\.0\b/i;

const NO_NETWORK =
  "the network is off, and each command has a loopback of its own, so servers of other commands and processes are out of reach; mcp.tools.allow_outbound_network = true opens both";
const OWN_LOOPBACK =
  "nothing listens there: each command has a loopback of its own, so start the server in the same command, as in bash -c 'server & sleep 1; client'; mcp.tools.allow_outbound_network = true shares the machine's";

/** Why a line without a network failed, wholly or in part, if one of its programs seems to have looked for one. */
export const networkNote = (launched: Launched, output: Output, command: string): string | undefined => {
  const failed = launched.programs.filter(({ exitCode }) => exitCode !== 0 && exitCode !== STOPPED_READING);
  if (failed.length === 0) return undefined;
  const written = `${output.stderr().slice(-READ_CHARS)}\n${output.stdout(false).slice(-READ_CHARS)}`;
  const reports = written.split("\n").filter((line) => UNREACHABLE.test(line));
  const looked =
    reports.length > 0 ||
    failed.some(({ name }) => usualPowers(name).includes("network")) ||
    (launched.timedOut && isFetching(launched));
  if (!looked) return undefined;
  const isLocal =
    reports.length === 0
      ? LOCAL.test(command)
      : reports.every((line) => REFUSED.test(line) || LOCAL.test(line));
  return isLocal ? OWN_LOOPBACK : NO_NETWORK;
};
