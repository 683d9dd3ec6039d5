import type { z } from "zod";
import { validateArguments } from "../../core/validate.ts";
import { payloadOf } from "../answer.ts";
import { toolBody } from "../bodies.ts";
import { asCall, type Door } from "../door.ts";
import { streamed, wantsEvents } from "../streamed.ts";

type ToolBody = z.infer<typeof toolBody>;

/** `POST /tool`: one call; as server-sent events for clients that ask for them. */
export const addToolRoute = (door: Door): void => {
  const { app, core } = door;
  app.post("/tool", async (request, reply) => {
    const checked = validateArguments(toolBody, request.body);
    const body = (checked instanceof Promise ? await checked : checked) as ToolBody;
    const { session_id: sessionId, name: tool, args } = body;
    if (wantsEvents(request)) {
      return streamed(door, request, reply, async ({ open, progress }) => {
        const result = await asCall(
          door,
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
      await asCall(door, request, sessionId, (origin) => core.call({ ...origin, tool, args })),
    );
  });
};
