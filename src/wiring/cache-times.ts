const MINUTE_MS = 60_000;

/** How long the design documents let permissions, the schemas of tools and what knowledge bases answer be kept. */
export const CACHE_MS = { kb: 5 * MINUTE_MS, permissions: 15 * MINUTE_MS, schemas: 60 * MINUTE_MS } as const;
