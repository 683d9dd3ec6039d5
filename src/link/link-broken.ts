import type { IncomingMessage } from "node:http";
import { isRecord } from "../base/is-record.ts";
import { fromWireError, type WireError } from "./wire.ts";

/** The connection broke, or there was none: the same request may be sent again. */
export class LinkBroken extends Error {
  override readonly name = "LinkBroken";
}

const MAX_TEXT_CHARS = 65_536;

/** The text of a short answer. */
export const textOf = async (response: IncomingMessage): Promise<string> => {
  let text = "";
  try {
    for await (const part of response.setEncoding("utf8")) {
      text += part as string;
      if (text.length > MAX_TEXT_CHARS) break;
    }
  } catch (thrown) {
    throw new LinkBroken(thrown instanceof Error ? thrown.message : "unknown");
  }
  return text;
};

/** What the core says when it refuses to look at a request. */
export const failureOf = (text: string): Error => {
  try {
    const { error } = JSON.parse(text) as { error?: unknown };
    if (isRecord(error)) return fromWireError(error as unknown as WireError);
  } catch {
    // Not an answer of the core: treated like a broken connection.
  }
  return new LinkBroken("not an answer of the core");
};
