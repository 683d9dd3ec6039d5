import { isRecord } from "../base/is-record.ts";
import type { PublishedTool } from "../core/publish.ts";
import { CAPABILITIES, SERVER_NAME } from "./capabilities.ts";
import { parseFrame } from "./frames.ts";

/** What has to be known to answer them. */
interface Known {
  readonly version: string;
  readonly instructions: string;
  /** Undefined if the core has to be asked. */
  readonly tools: readonly PublishedTool[] | undefined;
}

/** Revisions that begin with `initialize`, as the MCP library serves them; a test compares the answers. */
const VERSIONS: ReadonlySet<unknown> = new Set(["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]);

type EarlyAnswer =
  | { readonly kind: "initialize" | "list"; readonly answer: string }
  | { readonly kind: "initialized" };

const hasOnly = (value: Readonly<Record<string, unknown>>, names: readonly string[]): boolean =>
  Object.keys(value).every((name) => names.includes(name));

const isId = (id: unknown): id is string | number =>
  typeof id === "string" || (typeof id === "number" && Number.isSafeInteger(id));

const isClient = (info: unknown): boolean =>
  isRecord(info) &&
  typeof info["name"] === "string" &&
  typeof info["version"] === "string" &&
  hasOnly(info, ["name", "version", "title"]) &&
  Object.values(info).every((value) => typeof value === "string");

const isInitialize = (params: unknown): params is Readonly<Record<string, unknown>> =>
  isRecord(params) &&
  hasOnly(params, ["protocolVersion", "capabilities", "clientInfo"]) &&
  VERSIONS.has(params["protocolVersion"]) &&
  isRecord(params["capabilities"]) &&
  Object.values(params["capabilities"]).every(isRecord) &&
  isClient(params["clientInfo"]);

const isEmpty = (params: unknown): boolean =>
  params === undefined || (isRecord(params) && hasOnly(params, []));

const render = (id: string | number, result: object): string =>
  JSON.stringify({ result, jsonrpc: "2.0", id });

/**
 * The first answers of a connection: `initialize` and the list of tools, in their plain form, without the MCP library, which
 * takes longer to load than all the rest of a front. Undefined for anything else: that waits for the library, which is then
 * handed what was answered here as well, and validates everything that follows.
 */
export const answerEarly = (line: Buffer, known: Known, isInitialized: boolean): EarlyAnswer | undefined => {
  const frame = parseFrame(line);
  if (frame.kind === "refused" || !isRecord(frame.value)) return undefined;
  const { jsonrpc, id, method, params, ...others } = frame.value;
  if (jsonrpc !== "2.0" || Object.keys(others).length > 0) return undefined;
  if (method === "notifications/initialized" && id === undefined && isInitialized && isEmpty(params))
    return { kind: "initialized" };
  if (!isId(id)) return undefined;
  if (method === "initialize" && !isInitialized && isInitialize(params)) {
    const { version, instructions } = known;
    const result = {
      protocolVersion: params["protocolVersion"],
      capabilities: CAPABILITIES,
      serverInfo: { name: SERVER_NAME, version },
      instructions,
    };
    return { kind: "initialize", answer: render(id, result) };
  }
  if (method === "tools/list" && isInitialized && isEmpty(params) && known.tools !== undefined)
    return { kind: "list", answer: render(id, { tools: known.tools }) };
  return undefined;
};
