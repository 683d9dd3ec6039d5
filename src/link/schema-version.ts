/**
 * The version of what front and core say to each other. A new field that may be left out raises the minor number; anything
 * else raises the major one. Within one major version the core serves every older front.
 */
const LINK_SCHEMA = { major: 1, minor: 0 } as const;

export const SCHEMA_HEADER = "x-llmc-schema";
export const TOKEN_HEADER = "x-llmc-token";

export const schemaText = (): string => `${LINK_SCHEMA.major}.${LINK_SCHEMA.minor}`;

/** Whether this core can serve a peer that speaks the given version. */
export const isServed = (given: string | undefined): boolean => {
  const found = /^(\d{1,4})\.(\d{1,4})$/.exec(given ?? "");
  return found !== null && Number(found[1]) === LINK_SCHEMA.major && Number(found[2]) <= LINK_SCHEMA.minor;
};

/** Instead of a line's number, for lists, which change nothing and are quickly made: they are not kept. */
export const UNNUMBERED = 0;
