import type { IncomingHttpHeaders } from "node:http";

/** A header that came once and says something. */
export const headerOf = (headers: IncomingHttpHeaders, name: string): string | undefined => {
  const value = headers[name];
  return typeof value === "string" && value !== "" ? value : undefined;
};
