/** Up to the last `@`, even past a slash or a space: a password that was not encoded is worth more than a tidy address. */
const USERINFO = /:\/\/.*@/s;

const redactText = (text: string): string => text.replace(USERINFO, "://***@");

/** Takes names and passwords out of addresses; the configuration holds no other secret, only a variable's name. */
export const redactUserinfo = (value: unknown): unknown => {
  if (typeof value === "string") return redactText(value);
  if (Array.isArray(value)) return value.map(redactUserinfo);
  return value;
};
