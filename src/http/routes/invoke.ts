import { cleanName } from "../../base/text.ts";
import { invoke, refuseInAirGap } from "../../link/invoke.ts";
import { asCall, type RouteContext } from "./context.ts";

/** `POST /invoke`: one call in the shapes of the Unix socket, for programs that have a token. */
export const addInvokeRoute = (context: RouteContext): void => {
  const { app, core } = context;
  app.post("/invoke", async (request) => {
    if (core.settings().airGapped) throw refuseInAirGap();
    return asCall(context, request, "", (origin) =>
      invoke(core, request.body, (sessionId) => ({
        ...origin,
        caller: { ...origin.caller, sessionId: cleanName(sessionId) },
      })),
    );
  });
};
