import { modeCost } from "../cli/tools-command.ts";
import { tokenCounter } from "../host/os/token-counter.ts";
import { isLoopback } from "../http/auth/authenticate.ts";
import { isNamed, type Token } from "../http/auth/token-registry.ts";
import type { App } from "./app.ts";
import { describeUnnamedMode, isModeUnnamed } from "./mode-prices.ts";
import { LAUNCHER } from "./program-launch.ts";
import { VERSION } from "./version.ts";

/** Undefined if metrics are not served. */
export const metricsPathOf = (app: App): string | undefined => {
  const {
    enabled,
    metrics_prometheus_enabled: isServed,
    metrics_path: path,
  } = app.config.current().config.mcp.observability;
  return enabled && isServed ? path : undefined;
};

/** The name by which this machine itself reaches the server: requests to `0.0.0.0`, which stands for all addresses, are refused. */
export const ownNameOf = (host: string): string =>
  new Map([
    ["0.0.0.0", "127.0.0.1"],
    ["::", "::1"],
  ]).get(host) ?? host;

/** For other machines: the names that requests may use, of which an address to listen on is none by itself. */
const namesLines = (app: App): readonly string[] => {
  const { host, allowed_hosts: names } = app.config.current().config.mcp.server;
  if (isLoopback(host)) return [];
  return names.length > 0
    ? [`  also under the names ${names.join(", ")}`]
    : ["  other machines are refused until mcp.server.allowed_hosts has the name that they use for this one"];
};

interface Welcome {
  readonly url: string;
  readonly tokens: readonly Token[];
  /** How to call this program again. */
  readonly command: string;
}

/** More than these are counted. */
const MAX_NAMED = 5;

const describeSource = ({ source }: Token): string => {
  if (source === undefined) return "known by its digest alone";
  return `in ${"variable" in source ? source.variable : source.file}`;
};

const describeTokens = (tokens: readonly Token[]): string => {
  const [only] = tokens;
  if (only !== undefined && tokens.length === 1 && !isNamed(only)) return `token: ${describeSource(only)}`;
  const named = tokens
    .slice(0, MAX_NAMED)
    .map((token) => `${token.name} (${[...token.scopes].join(",")}) ${describeSource(token)}`);
  const others = tokens.length - named.length;
  return `tokens: ${[...named, ...(others === 0 ? [] : [`${others} more`])].join("; ")}`;
};

/** The header of a request for the metrics, for a shell; undefined where no token that a shell can read may see them. */
const metricsHeader = (tokens: readonly Token[], header: string): string | undefined => {
  const source = tokens.find((token) => token.scopes.has("metrics") && token.source !== undefined)?.source;
  if (source === undefined) return undefined;
  const secret = "variable" in source ? `$${source.variable}` : `$(cat ${source.file})`;
  return ` \\\n       -H "${header}: ${secret}"`;
};

const metricsLines = (app: App, { url, tokens }: Welcome): readonly string[] => {
  const path = metricsPathOf(app);
  if (path === undefined) return [];
  const { header, mode, metrics_open } = app.config.current().config.mcp.auth;
  const authorization = mode === "none" || metrics_open ? "" : metricsHeader(tokens, header);
  return authorization === undefined
    ? [`  see metrics:     ${url}${path}, with a token of the scope metrics`]
    : [`  see metrics:     curl ${url}${path}${authorization}`];
};

/** What a person at the terminal needs next, and nothing else. */
export const welcome = async (app: App, to: Welcome): Promise<string> => {
  const { url, tokens: valid, command } = to;
  const { mode } = app.core.settings();
  const { tokens, tools } = await modeCost(app.core, mode, await tokenCounter());
  const { header, mode: authMode } = app.config.current().config.mcp.auth;
  return [
    `llmc ${VERSION} serves ${app.root}`,
    `  ${url}/mcp   ${mode} mode: ${tools.length} tools, ${tokens} tokens`,
    ...namesLines(app),
    ...(isModeUnnamed(app.config.current()) ? [`  ${await describeUnnamedMode(app.core)}`] : []),
    ...(authMode === "none"
      ? ["  no token is required (mcp.auth.mode)"]
      : [`  ${describeTokens(valid)}, sent as ${header} or Authorization: Bearer`]),
    "",
    "Next:",
    `  try it:          ${url}/docs in a browser`,
    ...metricsLines(app, to),
    `  use it in your client, over stdio, which needs no server running; in your project's folder:`,
    // Typed in another folder, where a relative path leads nowhere.
    `                   ${LAUNCHER} connect claude-code   (${command} connect --help lists the clients)`,
    `  see the tools:   ${command} tools`,
    `  configure it:    ${command} init`,
    "",
    "",
  ].join("\n");
};
