/** Takes some 5 ms to load, which a client would wait for with the tool list: it comes with the first id. */
let crypto: typeof import("node:crypto") | undefined;

const loaded = () => {
  crypto ??= process.getBuiltinModule("node:crypto");
  return crypto;
};

export const newId = (): string => loaded().randomUUID();

export const newKey = (): Uint8Array => loaded().randomBytes(32);
