import type { RawData } from "ws";

/** A message of a WebSocket, in whichever form the library hands it over. */
export const bytesOf = (data: RawData): Uint8Array =>
  Array.isArray(data) ? Buffer.concat(data) : data instanceof ArrayBuffer ? new Uint8Array(data) : data;
