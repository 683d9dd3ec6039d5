import type { ServeOptions } from "../cli/actions.ts";
import { userFolders } from "../config/user-folders.ts";
import { sha256 } from "../host/os/lazy-builtins.ts";
import { readStartCache, startCachePath } from "../host/own-files/start-cache.ts";
import type { CachedStart, FrontSettings } from "./front-settings.ts";
import type { Start } from "./request.ts";
import { VERSION } from "./version.ts";

/** They differ from start to start, and say nothing about the configuration. */
const OF_ONE_START: ReadonlySet<string> = new Set(["LLMC_PROTOCOL_FD", "LLMC_AIR_GAP"]);

/** Variables on which the configuration depends, beside the files that it is read from. */
const isRelevant = (name: string): boolean =>
  name === "HOME" || name.startsWith("XDG_") || (name.startsWith("LLMC_") && !OF_ONE_START.has(name));

/** Names starts that are alike: the same program, arguments, folder and variables. */
const digestOf = ({ env, cwd }: Start, argv: readonly string[]): string => {
  const variables = Object.entries(env).filter(([name]) => isRelevant(name));
  return sha256(JSON.stringify([VERSION, process.versions.node, cwd, argv, variables.toSorted()]));
};

const loadSettings = async (start: Start, options: ServeOptions): Promise<FrontSettings> => {
  const [{ loadFor }, { requestOf }, { frontSettingsOf }] = await Promise.all([
    import("./load.ts"),
    import("./request.ts"),
    import("./front-settings.ts"),
  ]);
  return frontSettingsOf(await loadFor(await requestOf(start, options), false), start.env);
};

/** Everything in this process; what the next start has to know is kept if it was not known. */
const serveHere = async (start: Start, options: ServeOptions, cachePath?: string): Promise<number> => {
  const [{ serveStdio }, { requestOf }] = await Promise.all([import("./serve.ts"), import("./request.ts")]);
  const request = await requestOf(start, options, true);
  await serveStdio(request, start.signals, (app) => {
    if (cachePath === undefined) return;
    void import("./keep-start.ts").then(({ keepForNextStart }) => keepForNextStart(app, request, cachePath));
  });
  return 0;
};

/** Serves a client over stdio, in the form that the configuration asks for; resolves to the exit code. */
export const supervise = async (
  start: Start,
  argv: readonly string[],
  options: ServeOptions,
): Promise<number> => {
  const { state } = userFolders(start.env, start.home);
  const cachePath = startCachePath(state, digestOf(start, argv));
  const cached = readStartCache(cachePath) as CachedStart | undefined;
  const settings = cached?.settings ?? (await loadSettings(start, options));
  if (settings.airGap !== undefined) {
    const { enterIfAirGapped } = await import("./air-gap.ts");
    const code = await enterIfAirGapped(start, settings.airGap, { isServer: true });
    if (code !== undefined) return code;
  }
  if (!settings.isSplit) return serveHere(start, options, cached === undefined ? cachePath : undefined);
  const { serveSplit } = await import("./serve-split.ts");
  const request = { start, argv, settings, cached, cachePath };
  return (await serveSplit(request)) ?? serveHere(start, options);
};
