import type { Handles } from "../host/state/handles/handles.ts";
import type { Usage } from "../host/state/usage/usage.ts";
import type { TeRequest } from "./te-args.ts";
import { usageText } from "./usage-text.ts";

interface AnswerParts {
  readonly handles: Pick<Handles, "readChunk" | "list">;
  readonly usage: Pick<Usage, "summary">;
  /** Whose handles are listed and read. */
  readonly principal: string;
  /** Only what this owner did, in the session of that label; undefined: all. */
  readonly owner?: string | undefined;
  readonly session?: string | undefined;
  readonly bars: boolean;
}

const MAX_LISTED = 50;

const readHandle = async (
  { id, chunk = 0, json }: Extract<TeRequest, { kind: "handle" }>,
  { handles, principal }: AnswerParts,
  signal: AbortSignal | undefined,
): Promise<{ readonly text: string; readonly note: string }> => {
  const { text, info, truncated, stale } = await handles.readChunk({ principal }, id, chunk, signal);
  if (json) {
    const document = { handle: info.id, kind: info.kind, source: info.source, chunk, text, truncated, stale };
    return { text: `${JSON.stringify(document)}\n`, note: "" };
  }
  const notes = [
    ...(truncated ? [`more: te --handle ${info.id} --chunk ${chunk + 1}`] : []),
    ...(stale ? [`${info.source} has changed since`] : []),
  ];
  return { text, note: notes.length === 0 ? "" : `[${notes.join("; ")}]` };
};

/** What te answers without running anything; the note is not part of what was asked for. */
export const answerTe = async (
  request: Extract<TeRequest, { kind: "handle" | "list-handles" | "stats" }>,
  parts: AnswerParts,
  signal?: AbortSignal,
): Promise<{ readonly text: string; readonly note: string }> => {
  if (request.kind === "handle") return readHandle(request, parts, signal);
  if (request.kind === "stats") {
    const summary = parts.usage.summary({ owner: parts.owner, session: parts.session });
    return { text: request.json ? `${JSON.stringify(summary)}\n` : usageText(summary, parts), note: "" };
  }
  const listed = (await parts.handles.list(parts)).slice(0, MAX_LISTED);
  if (request.json) return { text: `${JSON.stringify(listed)}\n`, note: "" };
  if (listed.length === 0) return { text: "Nothing is kept.\n", note: "" };
  const lines = listed.map(({ id, kind, sizeBytes, createdAt, source }) =>
    `${id}  ${createdAt.toISOString().slice(0, 19)}Z  ${kind}  ${sizeBytes} bytes  ${source}`.trimEnd(),
  );
  return { text: `${lines.join("\n")}\n`, note: "" };
};
