/**
 * What a token may be used for. The first four are the effects that tools have; `metrics` reads the Prometheus page;
 * `admin` is everything.
 */
export const SCOPES = ["read", "write", "execute", "egress", "metrics", "admin"] as const;
export type Scope = (typeof SCOPES)[number];

const scope = `(?:${SCOPES.join("|")})`;

/** `NAME SCOPE,SCOPE env:VARIABLE` or `NAME SCOPE,SCOPE sha256:DIGEST`. A token itself fits nowhere in it. */
export const TOKEN_ENTRY = new RegExp(
  `^(?<name>[A-Za-z][\\w-]{0,31})\\s+(?<scopes>${scope}(?:,${scope})*)\\s+(?:env:(?<variable>[A-Za-z_]\\w*)|sha256:(?<digest>[0-9a-f]{64}))$`,
);

/** Whether an entry is the same token with no more scopes. */
export const coversToken = (allowed: string, asked: string): boolean => {
  const [one, other] = [allowed, asked].map((entry) => TOKEN_ENTRY.exec(entry)?.groups);
  if (one === undefined || other === undefined) return false;
  const isSame = (["name", "variable", "digest"] as const).every((part) => one[part] === other[part]);
  const scopes = new Set(one["scopes"]?.split(","));
  return (
    isSame && (scopes.has("admin") || (other["scopes"] ?? "").split(",").every((scope) => scopes.has(scope)))
  );
};
