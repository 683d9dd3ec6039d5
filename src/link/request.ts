import { z } from "zod";
import { LlmcError } from "../base/error.ts";
import { parseGuardedBytes, parseMeasuredBytes } from "../base/json-guard.ts";

/** Labels are cleaned and cut again by the core; this only bounds what it looks at. */
const label = z.string().max(4096);
const name = z.string().max(8192);

/** Who asks, as far as the front may say: principal, owner, transport and scopes are the core's own. */
const origin = z.strictObject({
  agentId: label,
  sessionId: label,
  model: label,
  budgetProfile: label,
  correlationId: z.string().max(200),
  route: label.nullable(),
  traceparent: z.string().max(200).nullable(),
  /** Whether the client wants to hear of progress. */
  progress: z.boolean(),
  /** Kinds of questions that the client can answer. */
  asks: z.array(z.enum(["form", "sampling", "roots"])).max(3),
  answers: z.record(z.string(), z.unknown()).nullable(),
  /** As the core sealed it. */
  state: z.string().nullable(),
});

const work = z.discriminatedUnion("method", [
  z.strictObject({ method: z.literal("call"), tool: name, args: z.unknown().optional() }),
  z.strictObject({ method: z.literal("listTools") }),
  z.strictObject({ method: z.literal("resources") }),
  z.strictObject({ method: z.literal("readResource"), uri: z.string() }),
  z.strictObject({ method: z.literal("getPrompt"), name, args: z.record(z.string(), z.string()) }),
  z.strictObject({
    method: z.literal("suggest"),
    of: z.union([z.strictObject({ prompt: name }), z.strictObject({ template: name })]),
    argument: name,
    value: z.string(),
  }),
]);

const number = z.int().min(0).max(Number.MAX_SAFE_INTEGER);

const linkRequest = z.strictObject({
  /** The client's line, and which of its rounds: a repeated pair is the same request. */
  n: number,
  round: z.int().min(0).max(1000),
  /** The generation of the core that was alive when the line was first delivered. */
  generation: number,
  origin,
  work,
});

const cancelRequest = z.strictObject({ n: number });

/** Bounds of what a front says in one piece, for both ends. */
export const MAX_LOG_ENTRIES = 100;
export const MAX_LOG_CHARS = 500;
export const MAX_LOG_COUNT = 10_000;

const message = z.string().max(MAX_LOG_CHARS);

const logRequest = z.strictObject({
  entries: z
    .array(
      z.union([
        z.strictObject({ level: z.enum(["warn", "error"]), message }),
        /** So many messages of the client that it did not pass on, since 1.1. */
        z.strictObject({ kind: z.literal("refusal"), message, count: z.int().min(1).max(MAX_LOG_COUNT) }),
      ]),
    )
    .max(MAX_LOG_ENTRIES),
});

export type LinkRequest = z.infer<typeof linkRequest>;
export type LinkOrigin = LinkRequest["origin"];
export type LinkWork = LinkRequest["work"];
export type LogEntry = z.infer<typeof logRequest>["entries"][number];

const checked = <T>(schema: z.ZodType<T>, value: unknown): T => {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const path = result.error.issues[0]?.path.join(".") ?? "";
  throw new LlmcError("invalid_args", `The link's request is malformed at ${path.slice(0, 100)}.`);
};

/** With about how much memory it takes besides its bytes. */
export const parseLinkRequest = (
  body: Uint8Array,
): { readonly request: LinkRequest; readonly extraBytes: number } => {
  const { value, extraBytes } = parseMeasuredBytes(body);
  return { request: checked(linkRequest, value), extraBytes };
};
export const parseCancel = (body: Uint8Array) => checked(cancelRequest, parseGuardedBytes(body));
export const parseLog = (body: Uint8Array) => checked(logRequest, parseGuardedBytes(body));
