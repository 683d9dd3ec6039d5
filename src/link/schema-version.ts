/**
 * The version of what front and core say to each other. A new field that may be left out raises the minor number; anything
 * else raises the major one. Within one major version the newer side speaks the older one's version.
 */
const LINK_SCHEMA = { major: 1, minor: 1 } as const;

export const SCHEMA_HEADER = "x-llmc-schema";
export const TOKEN_HEADER = "x-llmc-token";

/** Where a front asks which version to speak; it is answered whatever minor version the front has. */
export const HELLO_PATH = "/v1/hello";

/** The minor versions since which a peer understands what may be left out. */
export const SINCE = { refusals: 1 } as const;

/** Whether a version that was agreed on has what came with a minor one. */
export const hasMinor = (agreed: string, minor: number): boolean => Number(agreed.split(".")[1]) >= minor;

export const schemaText = (): string => `${LINK_SCHEMA.major}.${LINK_SCHEMA.minor}`;

/** The version to speak with a peer that speaks the given one and older ones; undefined if there is none. */
export const agreeOn = (given: string | undefined): string | undefined => {
  const [, major, minor] = /^(\d{1,4})\.(\d{1,4})$/.exec(given ?? "") ?? [];
  if (Number(major) !== LINK_SCHEMA.major) return undefined;
  return `${LINK_SCHEMA.major}.${Math.min(Number(minor), LINK_SCHEMA.minor)}`;
};

/** Whether this core can serve a request of the given version as it is. */
export const isServed = (given: string | undefined): boolean =>
  given !== undefined && agreeOn(given) === given;

/** Instead of a line's number, for lists, which change nothing and are quickly made: they are not kept. */
export const UNNUMBERED = 0;
