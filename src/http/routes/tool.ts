import type { z } from "zod";
import { payloadOf } from "../../core/payload.ts";
import { validateArguments } from "../../core/validate.ts";
import { toolBody } from "./bodies.ts";
import { asCall, type RouteContext } from "./context.ts";
import { streamed, wantsEvents } from "./streamed.ts";

type ToolBody = z.infer<typeof toolBody>;

/** `POST /tool`: one call; as server-sent events for clients that ask for them. */
export const addToolRoute = (context: RouteContext): void => {
  const { app, core } = context;
  app.post("/tool", async (request, reply) => {
    const body = (await validateArguments(toolBody, request.body)) as ToolBody;
    const { session_id: sessionId, name: tool, args } = body;
    if (wantsEvents(request)) {
      return streamed(context, request, reply, async ({ open, progress }) => {
        const result = await asCall(
          context,
          request,
          sessionId,
          (origin) => {
            open();
            return core.call({ ...origin, tool, args });
          },
          async (...step) => progress(...step),
        );
        return payloadOf(result);
      });
    }
    return payloadOf(
      await asCall(context, request, sessionId, (origin) => core.call({ ...origin, tool, args })),
    );
  });
};
