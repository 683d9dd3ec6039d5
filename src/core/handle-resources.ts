import { showControls } from "../base/text.ts";
import type { CallContext, Caller, Resource, ResourceContent, ResourceTemplate } from "../tools/contract.ts";
import type { Ports } from "../tools/tool.ts";

type Handles = Ports["handles"];

const PREFIX = "llmc://handles/";
/** The newest are listed; any other can still be read by its address. */
const MAX_LISTED = 50;
/** A resource is read whole, so it is bounded; the tools page through the rest. */
const SLICE = { offsetLines: 0, maxLines: 5000, maxBytes: 262_144 };

const read = async (
  handles: Handles,
  id: string,
  { caller, signal }: CallContext,
): Promise<ResourceContent> => {
  const { text, info } = await handles.readLines(caller, id, SLICE, signal);
  const shown = info.kind === "output" ? showControls(text) : text;
  return { uri: `${PREFIX}${id}`, mimeType: "text/plain", text: shown };
};

/** Large results that were kept for this caller's principal, as resources (REQ-T10). */
export const handleResources = async (handles: Handles, caller: Caller): Promise<readonly Resource[]> =>
  (await handles.list(caller)).slice(0, MAX_LISTED).map(({ id, kind, source, sizeBytes, createdAt }) => ({
    uri: `${PREFIX}${id}`,
    name: id,
    description: `${kind} of ${source}, ${sizeBytes} bytes, ${createdAt.toISOString()}`,
    mimeType: "text/plain",
    read: (call) => read(handles, id, call),
  }));

export const handleTemplate = (handles: Handles): ResourceTemplate => ({
  uriTemplate: `${PREFIX}{id}`,
  name: "handle",
  description: "A large result that was kept: what a search found, a file or a command's output.",
  mimeType: "text/plain",
  read: (_uri, variables, call) => read(handles, variables["id"] ?? "", call),
  complete: async (_variable, typed, { caller }) =>
    (await handles.list(caller)).map(({ id }) => id).filter((id) => id.startsWith(typed)),
});
