import { execFile } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { type Launch, type ServerProcess, startServer } from "./server-process.ts";

export type PeerId = "official" | "commander";

/** A server of others, ready to be asked. */
export interface RunningPeer extends AsyncDisposable {
  readonly id: PeerId;
  readonly name: string;
  readonly server: ServerProcess;
}

export interface RunningPeers extends AsyncDisposable {
  readonly running: readonly RunningPeer[];
  /** One line for each peer that could not be installed or started. */
  readonly missing: readonly string[];
  get(id: PeerId): ServerProcess | undefined;
}

interface Peer {
  readonly id: PeerId;
  readonly name: string;
  readonly package: string;
  /** Pinned: figures of two commits must differ by our work alone. */
  readonly version: string;
  readonly bin: string;
  /** Left out of the peer's own wishes where a registry cannot fulfil them. */
  readonly overrides?: Readonly<Record<string, string>>;
  launch(entry: string, root: string, home: string): Promise<Launch>;
}

const CACHE = fileURLToPath(new URL("../.peers", import.meta.url));
const INSTALL_MS = 5 * 60_000;
const START_MS = 30_000;

/**
 * Desktop Commander runs `python3 --version` before many of its answers, and waits for it. A version manager's shim in
 * the way makes that ten times as long, and would be this machine's fault and not the server's.
 */
const PLAIN_PATH = [dirname(process.execPath), "/usr/local/bin", "/usr/bin", "/bin"].join(delimiter);

/** Nothing listens there: the server goes on without what it wanted to fetch. */
const NOWHERE = "http://127.0.0.1:9/";

/** Settings of a user who has used it for a while and said no to everything: no telemetry, no first-run pages. */
const settleCommander = async (home: string, root: string): Promise<void> => {
  const folder = join(home, ".claude-server-commander");
  // It downloads a browser for PDFs at its first start, unless it believes that it has one.
  const browser = join(folder, "puppeteer-cache", "chrome", "none", "chrome-linux64");
  await mkdir(browser, { recursive: true });
  await writeFile(join(browser, "chrome"), "");
  const settings = {
    allowedDirectories: [root],
    telemetryEnabled: false,
    pendingWelcomeOnboarding: false,
    welcomeOnboardingEligible: false,
    onboarding_injection: false,
    feedbackGiven: true,
  };
  await writeFile(join(folder, "config.json"), JSON.stringify(settings));
};

const PEERS: readonly Peer[] = [
  {
    id: "official",
    name: "official filesystem",
    package: "@modelcontextprotocol/server-filesystem",
    version: "2026.8.31",
    bin: "mcp-server-filesystem",
    launch: async (entry, root) => ({ command: process.execPath, args: [entry, root] }),
  },
  {
    id: "commander",
    name: "Desktop Commander",
    package: "@wonderwhy-er/desktop-commander",
    version: "0.2.52",
    bin: "desktop-commander",
    // A dependency far down asks for ^1.0.6, which some mirrors of the registry do not have.
    overrides: { "typedarray.prototype.slice": "1.0.5" },
    launch: async (entry, root, home) => {
      await settleCommander(home, root);
      return {
        command: process.execPath,
        args: [entry, "--no-onboarding"],
        env: { HOME: home, DESKTOP_COMMANDER_DISABLE_TELEMETRY: "1", DC_FLAG_URL: NOWHERE },
      };
    },
  },
];

interface Manifest {
  readonly version: string;
  readonly bin: string | Readonly<Record<string, string>>;
}

const readManifest = (folder: string): Manifest | undefined => {
  try {
    return JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Manifest;
  } catch {
    return undefined;
  }
};

const run = promisify(execFile);

/** Installs a peer unless it is there; resolves to its entry file. */
const install = async (peer: Peer): Promise<string> => {
  const prefix = join(CACHE, peer.id);
  const folder = join(prefix, "node_modules", peer.package);
  if (readManifest(folder)?.version !== peer.version) {
    mkdirSync(prefix, { recursive: true });
    writeFileSync(
      join(prefix, "package.json"),
      JSON.stringify({ private: true, overrides: peer.overrides ?? {} }),
    );
    process.stdout.write(`installing ${peer.package}@${peer.version} into bench/.peers …\n`);
    // Without its scripts: one of them reports the installation to its makers.
    const options = ["--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"];
    await run("npm", ["install", "--prefix", prefix, ...options, `${peer.package}@${peer.version}`], {
      cwd: prefix,
      timeout: INSTALL_MS,
    });
  }
  const { bin } = readManifest(folder) ?? {};
  const entry = typeof bin === "string" ? bin : bin?.[peer.bin];
  if (entry === undefined) throw new Error(`its package names no program ${peer.bin}`);
  return join(folder, entry);
};

const within = async <T>(ms: number, work: Promise<T>): Promise<T> => {
  let timer: NodeJS.Timeout | undefined;
  const impatience = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${ms / 1000} s`)), ms);
  });
  return Promise.race([work, impatience]).finally(() => clearTimeout(timer));
};

const startPeer = async (peer: Peer, root: string): Promise<RunningPeer> => {
  const entry = await install(peer);
  const home = await mkdtemp(join(tmpdir(), "llmc-peer-"));
  const { env, ...launch } = await peer.launch(entry, root, home);
  const server = startServer({ ...launch, env: { ...env, PATH: PLAIN_PATH } });
  const stop = async (): Promise<void> => {
    await server.close();
    await rm(home, { recursive: true, force: true });
  };
  try {
    await within(START_MS, server.handshake());
    await within(START_MS, server.request("tools/list"));
  } catch (error) {
    await stop();
    throw error;
  }
  return { id: peer.id, name: `${peer.name} ${peer.version}`, server, [Symbol.asyncDispose]: stop };
};

/** The first lines that npm or the server wrote name the problem. */
const explain = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).trim().split("\n").slice(0, 3).join(" / ");

/** Starts all peers on a directory. One that cannot be had is named, and the others go on. */
export const startPeers = async (
  root: string,
  wanted: readonly PeerId[] = PEERS.map(({ id }) => id),
): Promise<RunningPeers> => {
  const running: RunningPeer[] = [];
  const missing: string[] = [];
  for (const peer of PEERS.filter(({ id }) => wanted.includes(id))) {
    try {
      running.push(await startPeer(peer, root));
    } catch (error) {
      missing.push(
        `SKIPPED: ${peer.name} ${peer.version} could not be installed or started: ${explain(error)}`,
      );
    }
  }
  return {
    running,
    missing,
    get: (id) => running.find((peer) => peer.id === id)?.server,
    [Symbol.asyncDispose]: async () => {
      await Promise.all(running.map((peer) => peer[Symbol.asyncDispose]()));
    },
  };
};
