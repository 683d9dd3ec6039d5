import type { z } from "zod";
import { validateArguments } from "../../core/validate.ts";
import { agentBody } from "../bodies.ts";
import { asCall, type Door } from "../door.ts";

const ACKNOWLEDGEMENT = "[MCP v0] received; use /rag/search for pre-call context";

/** `POST /invoke_agent`: acknowledges; the model is called by whoever calls this. */
export const addAgentRoute = (door: Door): void => {
  door.app.post("/invoke_agent", async (request) => {
    const body = (await validateArguments(agentBody, request.body)) as z.infer<typeof agentBody>;
    return asCall(door, request, body.session_id, (origin) =>
      door.core.serve("invoke_agent", origin, async () => ({ text: ACKNOWLEDGEMENT })),
    );
  });
};
