/**
 * Parts of Node that are loaded when they are first used. An import of `node:crypto` adds about 5 ms and one of
 * `node:util` about 2 ms to every start, which a client spends waiting for the tool list.
 */
const lazyCrypto = () => process.getBuiltinModule("node:crypto");

export const newId = (): string => lazyCrypto().randomUUID();

export const newKey = (): Uint8Array => lazyCrypto().randomBytes(32);

export const sha256 = (text: string): string => lazyCrypto().hash("sha256", text);

/** Tells equal texts from others without revealing them. */
export const shortDigest = (text: string): string => sha256(text).slice(0, 12);

export const lazyParseArgs: typeof import("node:util").parseArgs = (config) =>
  process.getBuiltinModule("node:util").parseArgs(config);
