import { isRecord } from "../base/is-record.ts";
import { canonicalName } from "../core/modes.ts";
import type { PublishedTool } from "../core/publish.ts";

/** Error code of 2026-07-28: a header and the body disagree. */
const HEADER_MISMATCH = -32020;

interface Mirrored {
  readonly path: readonly string[];
  readonly header: string;
}

/** Arguments that a schema declares (`x-mcp-header`) to be repeated in a header, where intermediaries can read them. */
const mirroredIn = (schema: unknown, path: readonly string[] = []): readonly Mirrored[] => {
  if (!isRecord(schema) || !isRecord(schema["properties"])) return [];
  return Object.entries(schema["properties"]).flatMap(([name, property]) => {
    const own = [...path, name];
    const header = isRecord(property) ? property["x-mcp-header"] : undefined;
    return [
      ...(typeof header === "string" ? [{ path: own, header: `Mcp-Param-${header}` }] : []),
      ...mirroredIn(property, own),
    ];
  });
};

const valueAt = (args: unknown, path: readonly string[]): unknown =>
  path.reduce<unknown>((node, key) => (isRecord(node) ? node[key] : undefined), args);

/** The value of a header; undefined if it is not valid Base64. */
const decode = (value: string): string | undefined => {
  const encoded = /^=\?base64\?(.*)\?=$/.exec(value)?.[1];
  if (encoded === undefined) return value;
  const bytes = Buffer.from(encoded, "base64");
  return bytes.toString("base64") === encoded ? bytes.toString("utf8") : undefined;
};

const isSame = (header: string, argument: string | number | boolean): boolean => {
  const decoded = decode(header);
  if (typeof argument !== "number") return decoded === String(argument);
  return decoded !== undefined && decoded !== "" && Number(decoded) === argument;
};

const mismatchIn = (schema: unknown, args: unknown, headers: Headers): string | undefined =>
  mirroredIn(schema).find(({ path, header }) => {
    const argument = valueAt(args, path);
    if (typeof argument !== "string" && typeof argument !== "number" && typeof argument !== "boolean")
      return false;
    const given = headers.get(header);
    return given === null || !isSame(given, argument);
  })?.header;

/**
 * Refuses a tool call whose mirrored arguments differ from its headers, because an intermediary may have allowed it by
 * its headers. The SDK checks this only for tools in its own registry, which we do not use.
 */
export const refuseParamHeaders = async (
  tools: () => readonly PublishedTool[] | Promise<readonly PublishedTool[]>,
  body: unknown,
  headers: Headers,
): Promise<Response | undefined> => {
  if (!isRecord(body) || body["method"] !== "tools/call" || !isRecord(body["params"])) return undefined;
  const { name, arguments: args } = body["params"];
  const tool = (await tools()).find((candidate) => candidate.name === canonicalName(String(name)));
  const header = mismatchIn(tool?.inputSchema, args, headers);
  if (header === undefined) return undefined;
  const message = `The header ${header} does not match the argument.`;
  return Response.json(
    { jsonrpc: "2.0", id: body["id"] ?? null, error: { code: HEADER_MISMATCH, message } },
    { status: 400 },
  );
};
