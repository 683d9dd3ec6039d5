import type { Server } from "node:http";
import { resolve } from "node:path";
import { LlmcError } from "../base/error.ts";
import type { HttpApp, HttpParts } from "../http/app.ts";
import type { RateStore } from "../http/rate.ts";
import type { Token } from "../http/tokens.ts";
import { describeCause } from "../observe/cause.ts";
import type { App, AppRequest } from "./app.ts";

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

/** Characters; what is shorter has been chosen by a person. */
const SHORT_TOKEN = 16;

/** The tokens in force; `mcp.auth.tokens` is hot, and a bad edit of it takes nobody's token away. */
export const followTokens = async (app: App, plain: string | undefined, env: AppRequest["env"]) => {
  const [{ resolveTokens }, { checkAuthPosture }, { lostBetween }] = await Promise.all([
    import("../http/tokens.ts"),
    import("../http/auth.ts"),
    import("../http/standing.ts"),
  ]);
  const read = () => resolveTokens({ plain, entries: app.config.current().config.mcp.auth.tokens, env });
  let { tokens, problems } = read();
  const { auth, server } = app.config.current().config.mcp;
  checkAuthPosture({
    mode: auth.mode,
    host: server.host,
    allowUnauthenticated: auth.allow_unauthenticated,
    tokenEnv: auth.token_env,
    tokens,
    problems,
  });
  if (auth.mode === "token" && plain !== undefined && plain.length < SHORT_TOKEN)
    app.observer.log.warn(
      {},
      "the token is short enough to be guessed; openssl rand -hex 32 makes a better one",
    );
  const listeners = new Set<(lost: readonly Token[]) => void>();
  app.config.onChange(() => {
    const before = tokens;
    ({ tokens, problems } = read());
    for (const problem of problems) app.observer.log.error({ reason: problem }, "a token is not in force");
    const lost = lostBetween(before, tokens);
    if (lost.length > 0) for (const listener of listeners) listener(lost);
  });
  return {
    current: () => tokens,
    /** Calls back with the tokens, as they were, that are no longer in force or have lost a scope. */
    onLost: (listener: (lost: readonly Token[]) => void): void => void listeners.add(listener),
  };
};

/** Stores that several machines can share, by the scheme of their address, and the optional package that each needs. */
const SHARED_RATES = [
  {
    scheme: /^rediss?:\/\//,
    driver: "ioredis",
    load: async () => (await import("../host/net/redis-rates.ts")).createRedisRates,
  },
  {
    scheme: /^postgres(?:ql)?:\/\//,
    driver: "pg",
    load: async () => (await import("../host/net/postgres-rates.ts")).createPostgresRates,
  },
] as const;

/** Where the buckets are: in memory, or in a store that several machines share. */
export const openRates = async (app: App, url: string): Promise<RateStore> => {
  const { createMemoryRates } = await import("../http/rate.ts");
  const own = createMemoryRates(app.now);
  if (url === "") return own;
  const store = SHARED_RATES.find(({ scheme }) => scheme.test(url));
  if (store === undefined) {
    throw new LlmcError(
      "config_invalid",
      "mcp.limits.state_url: expected redis://, rediss:// or postgres://.",
    );
  }
  const [create, { createSharedRates }] = await Promise.all([
    store.load(),
    import("../http/shared-rates.ts"),
  ]).catch((cause: unknown) => {
    throw new LlmcError(
      "unavailable",
      `mcp.limits.state_url needs the package ${store.driver}, which is not installed.`,
      {
        hint: "Install it beside llmc, or leave the key out.",
        cause,
      },
    );
  });
  // Its own events repeat what the next request finds out.
  const shared = create(url, () => {});
  return createSharedRates(shared, own, app.now, (error) =>
    app.observer.log.warn(
      describeCause(error),
      "the shared rate limits do not answer; this machine limits by itself",
    ),
  );
};

/** Ends everything that a token has open or running, as soon as it is no longer in force or has lost a scope. */
export const followRevocations = (
  app: App,
  tokens: Awaited<ReturnType<typeof followTokens>>,
  http: Pick<HttpApp, "enforceTokens">,
  dropSessionsOf: (principal: string) => void,
): void => {
  tokens.onLost((lost) => {
    http.enforceTokens();
    for (const { name, principal } of lost) {
      dropSessionsOf(principal);
      const now = tokens.current().find((token) => token.principal === principal);
      app.observer.log.info({ name, revoked: now === undefined }, "a token has lost rights");
      if (now?.scopes.has("execute") === true) continue;
      void app
        .engines()
        .then(({ processes }) => processes.endAll(principal, "its token is no longer in force"))
        .catch((error: unknown) =>
          app.observer.log.error(describeCause(error), "processes of a token could not be ended"),
        );
    }
  });
};

/** What the door reads from the configuration anew with each request. */
export const hotParts = (
  app: App,
): Pick<HttpParts, "auth" | "rateLimit" | "laneLimits" | "wrongTokensPerMinute"> => {
  const current = () => app.config.current().config.mcp;
  return {
    auth: () => current().auth,
    rateLimit: () => {
      const { rate_limit_rps: perSecond, rate_limit_burst: burst } = current().limits;
      return { perSecond, burst };
    },
    laneLimits: () => {
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
