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

/** Why a command without a network failed, if it seems to have looked for one. */
export const networkNote = (launched: Launched, output: Output): string | undefined => {
  const written = `${output.stderr().slice(-READ_CHARS)}\n${output.stdout(false).slice(-READ_CHARS)}`;
  if (!UNREACHABLE.test(written) && !(launched.timedOut && isFetching(launched))) return undefined;
  return "the network is off, and each command has a loopback of its own, so servers of other commands and processes are out of reach; mcp.tools.allow_outbound_network = true opens both";
};
