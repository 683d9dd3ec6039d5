import type { Server } from "node:http";
import { resolve } from "node:path";
import { LlmcError } from "../base/error.ts";
import { EXTRAS, missingExtra } from "../base/extras-table.ts";
import type { Token } from "../http/auth/token-registry.ts";
import type { RateLimiter } from "../http/limits/rate-limiter.ts";
import type { HttpParts, HttpServer } from "../http/server.ts";
import { describeCause } from "../observe/cause.ts";
import type { App, AppRequest } from "./app.ts";
import type { FoundToken } from "./token-file.ts";

type ServerConfig = ReturnType<App["config"]["current"]>["config"]["mcp"]["server"];

/** The listener's certificate, and the way to read it again; nothing where TLS is off. */
export const openTls = async (app: App, { tls_enabled, tls_cert_file, tls_key_file }: ServerConfig) => {
  if (!tls_enabled) return undefined;
  const [{ readKeyPair }, { renewKeyPair }] = await Promise.all([
    import("../host/os/key-pair.ts"),
    import("../host/net/listen.ts"),
  ]);
  const files = [resolve(app.root, tls_cert_file), resolve(app.root, tls_key_file)] as const;
  const follow = (server: Server): (() => void) => {
    const renew = async (): Promise<void> => {
      try {
        renewKeyPair(server, await readKeyPair(...files));
        app.observer.log.info({}, "the TLS certificate was read again");
      } catch (error) {
        app.observer.log.error(
          describeCause(error),
          "the TLS certificate cannot be used; the last good one stays",
        );
      }
    };
    const stops = files.map((file) => app.disk.watch(file, () => void renew()));
    const onSignal = () => void renew();
    process.on("SIGHUP", onSignal);
    return () => {
      process.off("SIGHUP", onSignal);
      for (const stop of stops) stop();
    };
  };
  return { keyPair: await readKeyPair(...files), follow };
};

/** Characters. A shorter token was probably chosen by a person. */
const SHORT_TOKEN = 16;

/** The valid tokens. `mcp.auth.tokens` may change at any time; an entry with an error does not revoke other tokens. */
export const followTokens = async (app: App, found: FoundToken, env: AppRequest["env"]) => {
  const [{ resolveTokens }, { checkAuthSettings }, { hasLostRights }] = await Promise.all([
    import("../http/auth/token-registry.ts"),
    import("../http/auth/authenticate.ts"),
    import("../http/auth/revocation.ts"),
  ]);
  const defaultSecret = found.token;
  const defaultSource =
    found.file === undefined
      ? { variable: app.config.current().config.mcp.auth.token_env }
      : { file: found.file };
  const read = () =>
    resolveTokens({
      defaultSecret,
      defaultSource,
      entries: app.config.current().config.mcp.auth.tokens,
      env,
    });
  let { tokens, problems } = read();
  const { auth, server } = app.config.current().config.mcp;
  checkAuthSettings({
    mode: auth.mode,
    host: server.host,
    allowUnauthenticated: auth.allow_unauthenticated,
    tokenEnv: auth.token_env,
    tokens,
    problems,
  });
  if (auth.mode === "token" && defaultSecret !== undefined && defaultSecret.length < SHORT_TOKEN)
    app.observer.log.warn(
      {},
      "the token is short enough to be guessed; openssl rand -hex 32 makes a better one",
    );
  const listeners = new Set<(lost: readonly Token[]) => void>();
  app.config.onChange(() => {
    const before = tokens;
    ({ tokens, problems } = read());
    for (const problem of problems) app.observer.log.error({ reason: problem }, "a token cannot be used");
    const lost = before.filter((token) => hasLostRights(token, tokens));
    if (lost.length > 0) for (const listener of listeners) listener(lost);
  });
  return {
    current: () => tokens,
    /** Called with the tokens, as they were before, that were revoked or have lost a scope. */
    onLost: (listener: (lost: readonly Token[]) => void): void => void listeners.add(listener),
  };
};

/** Stores that several machines can share, by the scheme of their address, and the optional package that each needs. */
const SHARED_STORES = [
  {
    scheme: /^rediss?:\/\//,
    extra: EXTRAS.redis,
    load: async () => (await import("../host/net/redis-rate-limiter.ts")).createRedisRateLimiter,
  },
  {
    scheme: /^postgres(?:ql)?:\/\//,
    extra: EXTRAS.postgres,
    load: async () => (await import("../host/net/postgres-rate-limiter.ts")).createPostgresRateLimiter,
  },
] as const;

/** The rate limiter: in memory, or in a store that several servers share. */
export const openRateLimiter = async (app: App, url: string): Promise<RateLimiter> => {
  const { createMemoryRateLimiter } = await import("../http/limits/rate-limiter.ts");
  const own = createMemoryRateLimiter(app.now);
  if (url === "") return own;
  const store = SHARED_STORES.find(({ scheme }) => scheme.test(url));
  if (store === undefined) {
    throw new LlmcError(
      "config_invalid",
      "mcp.limits.state_url: expected redis://, rediss:// or postgres://.",
    );
  }
  const [create, { createSharedRateLimiter }] = await Promise.all([
    store.load(),
    import("../http/limits/shared-rate-limiter.ts"),
  ]).catch((cause: unknown) => {
    throw missingExtra(store.extra, cause);
  });
  // The next request reports the same error.
  const shared = create(url, () => {});
  return createSharedRateLimiter(shared, own, app.now, (error) =>
    app.observer.log.warn(
      describeCause(error),
      "the shared rate limits do not answer; this machine limits by itself",
    ),
  );
};

/** Ends everything that a token has open or running as soon as it is revoked or loses a scope. */
export const followRevocations = (
  app: App,
  tokens: Awaited<ReturnType<typeof followTokens>>,
  http: Pick<HttpServer, "enforceTokens">,
  dropSessionsOf: (principal: string) => void,
): void => {
  tokens.onLost((lost) => {
    http.enforceTokens();
    for (const { name, principal } of lost) {
      dropSessionsOf(principal);
      const now = tokens.current().find((token) => token.principal === principal);
      app.observer.log.info({ name, revoked: now === undefined }, "a token has lost rights");
      const mayRun = now?.scopes.has("execute") === true;
      void app
        .engines()
        .then(({ processes, programs, rlm }) => {
          rlm.endAll(principal);
          // A process has started and asks for nothing more; a program calls tools with all rights of its owner.
          return Promise.all([
            mayRun ? undefined : processes.endAll(principal, "its token was revoked"),
            programs.endAll(principal),
          ]);
        })
        .catch((error: unknown) =>
          app.observer.log.error(describeCause(error), "processes of a token could not be ended"),
        );
    }
  });
};

/** Settings that the server reads again with each request. */
export const hotParts = (
  app: App,
): Pick<HttpParts, "auth" | "rateLimit" | "concurrencyLimits" | "wrongTokensPerMinute"> => {
  const current = () => app.config.current().config.mcp;
  return {
    auth: () => current().auth,
    rateLimit: () => {
      const { rate_limit_rps: perSecond, rate_limit_burst: burst } = current().limits;
      return { perSecond, burst };
    },
    concurrencyLimits: () => {
      const { limits, request_timeout_seconds: timeout } = current();
      return {
        maxRunning: limits.concurrency_per_token,
        maxWaiting: limits.queue_per_token,
        maxWaitMs: timeout * 1000,
      };
    },
    wrongTokensPerMinute: () => current().limits.wrong_tokens_per_minute,
  };
};
