/**
 * Up to the last `@`, even past a slash or a space: hiding an unencoded password matters more than showing the whole
 * address.
 */
const USERINFO = /:\/\/.*@/s;

/** Drivers of databases take a password as a parameter of the address too; its name may be written in any case, or encoded. */
const PARAMETER = /([?&][^=&]*(?:pass|pwd|secret|token|%)[^=&]*=)[^&#]*/gi;

const redactText = (text: string): string =>
  text.includes("://") ? text.replace(USERINFO, "://***@").replace(PARAMETER, "$1***") : text;

/** Takes names and passwords out of addresses; the configuration holds no other secret, only a variable's name. */
export const redactUserinfo = (value: unknown): unknown => {
  if (typeof value === "string") return redactText(value);
  if (Array.isArray(value)) return value.map(redactUserinfo);
  return value;
};
