import type { AuthSettings } from "../auth/authenticate.ts";
import { originOfRequest, type RouteContext } from "./context.ts";
import { describeApi } from "./openapi.ts";
import { TRY_PAGE, TRY_PAGE_POLICY } from "./try-page.ts";

interface DescriptionParts {
  readonly version: string;
  readonly metricsPath: string | undefined;
  readonly auth: () => AuthSettings;
}

/** `/openapi.json`, and at `/docs` a page to try the endpoints. */
export const addDescriptionRoutes = (context: RouteContext, parts: DescriptionParts): void => {
  const { app, core } = context;
  app.get("/openapi.json", async (request) => {
    const { mode, header } = parts.auth();
    const outputs = (await core.preview("classic")).flatMap(({ name, outputSchema }) =>
      outputSchema === undefined ? [] : [[name, outputSchema] as const],
    );
    return describeApi({
      version: parts.version,
      tools: core.listTools(originOfRequest(context, request, request.id).caller),
      outputs: new Map(outputs),
      header,
      needsToken: mode === "token",
      metricsPath: parts.metricsPath,
    });
  });

  app.get("/", { config: { open: true } }, async (_request, reply) => reply.redirect("docs"));

  // Open, because a browser that follows a link cannot send a token. The page asks for it.
  app.get("/docs", { config: { open: true } }, async (_request, reply) =>
    reply
      .type("text/html; charset=utf-8")
      .header("content-security-policy", TRY_PAGE_POLICY)
      .header("referrer-policy", "no-referrer")
      .header("cache-control", "no-store")
      .send(TRY_PAGE),
  );
};
