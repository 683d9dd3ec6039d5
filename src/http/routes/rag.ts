import type { z } from "zod";
import { payloadOf } from "../../core/payload.ts";
import { validateArguments } from "../../core/validate.ts";
import { type Bootload, bootloadBody, searchAnswer, searchBody } from "./bodies.ts";
import { asCall, type RouteContext } from "./context.ts";

/** What a session should read before it starts a task. */
export type BootloadPort = (sessionId: string, taskId: string, signal: AbortSignal) => Promise<Bootload>;

const snippetsOf = (payload: unknown): unknown => {
  const data = typeof payload === "object" && payload !== null && "data" in payload ? payload.data : payload;
  return typeof data === "object" && data !== null && "snippets" in data ? data.snippets : data;
};

/** Omitted fields stay omitted, because the tool has its own defaults. */
const withoutUndefined = (args: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(args).filter(([, value]) => value !== undefined));

/** `POST /rag/search` and `POST /rag/bootload`, which exist in every mode. */
export const addRagRoutes = (context: RouteContext, bootload: BootloadPort): void => {
  const { app, core } = context;

  app.post("/rag/search", async (request) => {
    const body = (await validateArguments(searchBody, request.body)) as z.infer<typeof searchBody>;
    const args = withoutUndefined({ ...body, q: undefined, query: body.q });
    const result = await asCall(context, request, request.id, (origin) =>
      core.callInAnyMode({ ...origin, tool: "rag_search", args }),
    );
    // The tool returns more fields than this endpoint promises.
    return searchAnswer.parse({ snippets: snippetsOf(payloadOf(result)), provenance: true });
  });

  app.post("/rag/bootload", async (request) => {
    const body = (await validateArguments(bootloadBody, request.body)) as z.infer<typeof bootloadBody>;
    const { session_id: sessionId, task_id: taskId } = body;
    return asCall(context, request, sessionId, (origin) =>
      core.serve("rag_bootload", origin, async ({ signal }) => {
        const { plan, scope, notes } = await bootload(sessionId, taskId, signal);
        return { plan, scope, notes };
      }),
    );
  });
};
