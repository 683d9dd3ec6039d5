/**
 * What a token allows. The first four are the effects that tools have; `metrics` allows reading the Prometheus metrics;
 * `admin` includes all others.
 */
export const SCOPES = ["read", "write", "execute", "egress", "metrics", "admin"] as const;
export type Scope = (typeof SCOPES)[number];

const scope = `(?:${SCOPES.join("|")})`;

/** `NAME SCOPE,SCOPE env:VARIABLE` or `NAME SCOPE,SCOPE sha256:DIGEST`. The pattern has no room for a secret. */
export const TOKEN_ENTRY = new RegExp(
  `^(?<name>[A-Za-z][\\w-]{0,31})\\s+(?<scopes>${scope}(?:,${scope})*)\\s+(?:env:(?<variable>[A-Za-z_]\\w*)|sha256:(?<digest>[0-9a-f]{64}))$`,
);

/** Whether the second entry is the same token as the first, with the same scopes or fewer. */
export const coversToken = (allowed: string, asked: string): boolean => {
  const [one, other] = [allowed, asked].map((entry) => TOKEN_ENTRY.exec(entry)?.groups);
  if (one === undefined || other === undefined) return false;
  const isSame = (["name", "variable", "digest"] as const).every((part) => one[part] === other[part]);
  const scopes = new Set(one["scopes"]?.split(","));
  return (
    isSame && (scopes.has("admin") || (other["scopes"] ?? "").split(",").every((scope) => scopes.has(scope)))
  );
};
