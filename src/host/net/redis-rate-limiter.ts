import { Redis } from "ioredis";
import { LlmcError } from "../../base/error.ts";

interface Limit {
  readonly perSecond: number;
  readonly burst: number;
}

/**
 * A bucket is one number: the time at which it will be full again, in milliseconds of Redis's clock, so that servers
 * whose clocks differ can share it. Redis runs a script atomically. A full bucket needs no entry.
 */
const CONSUME = `
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + tonumber(time[2]) / 1000
local interval = tonumber(ARGV[1])
local burst = tonumber(ARGV[2])
local from = math.max(now, tonumber(redis.call('GET', KEYS[1]) or '0'))
local wait = from + interval - burst * interval - now
if wait > 0.01 then return string.format('%.3f', wait) end
local full = from + interval
redis.call('SET', KEYS[1], string.format('%.3f', full), 'PX', string.format('%d', math.ceil(full - now)))
return '0'
`;

const KEY_PREFIX = "llmc:rate:";
/** Every request waits for the store, so it must answer within this time. */
const ANSWER_MS = 250;
const CONNECT_MS = 2000;
const RETRY_MS = 1000;

/** The URL may hold a password, so neither it nor the parser's message is repeated. */
const connect = (url: string): Redis => {
  try {
    return new Redis(url, {
      connectTimeout: CONNECT_MS,
      commandTimeout: ANSWER_MS,
      // Reject at once while there is no connection: the caller has a fallback.
      enableOfflineQueue: false,
      maxRetriesPerRequest: 0,
      retryStrategy: () => RETRY_MS,
    });
  } catch {
    throw new LlmcError("config_invalid", "mcp.limits.state_url: this Redis URL cannot be used.", {
      hint: "Expected redis://USER:PASSWORD@HOST:PORT/NUMBER, with special characters percent-encoded (%40 for @).",
    });
  }
};

/** Rate limits in Redis, for several servers with the same tokens. Rejects if Redis does not answer. */
export const createRedisRateLimiter = (url: string, onError: (error: Error) => void) => {
  const redis = connect(url);
  redis.on("error", onError);
  return {
    consume: async (key: string, { perSecond, burst }: Limit) => {
      const waitMs = Number(await redis.eval(CONSUME, 1, `${KEY_PREFIX}${key}`, 1000 / perSecond, burst));
      if (!Number.isFinite(waitMs)) throw new Error("the answer is not a number");
      return { allowed: waitMs === 0, retryAfterMs: waitMs };
    },
    close: async (): Promise<void> => redis.disconnect(),
  };
};
