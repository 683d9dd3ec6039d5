import { Redis } from "ioredis";

interface Limit {
  readonly perSecond: number;
  readonly burst: number;
}

/**
 * A bucket as one number: when it will be full again, in milliseconds of Redis's own clock, so that machines whose
 * clocks differ share it. Whole or not at all, because Redis runs a script by itself. A full bucket needs no entry.
 */
const TAKE = `
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
/** A store that is slower than this helps nobody: a request waits for it. */
const ANSWER_MS = 250;
const CONNECT_MS = 2000;
const RETRY_MS = 1000;

/** Rate limits in Redis, for several machines that serve the same tokens. Rejects where Redis does not answer. */
export const createRedisRates = (url: string, onTrouble: (error: Error) => void) => {
  const redis = new Redis(url, {
    connectTimeout: CONNECT_MS,
    commandTimeout: ANSWER_MS,
    // Refused at once while there is no connection: the caller has another way.
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    retryStrategy: () => RETRY_MS,
  });
  redis.on("error", onTrouble);
  return {
    take: async (key: string, { perSecond, burst }: Limit) => {
      const said = Number(await redis.eval(TAKE, 1, `${KEY_PREFIX}${key}`, 1000 / perSecond, burst));
      if (!Number.isFinite(said)) throw new Error("the answer is no number");
      return { allowed: said === 0, retryAfterMs: said };
    },
    close: async (): Promise<void> => redis.disconnect(),
  };
};
