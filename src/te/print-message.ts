import { showControls } from "../base/text.ts";
import type { TeStreams } from "./parts.ts";

/** Writes a message of te itself to stderr; names in it may hold control characters. */
export const printMessage = ({ stderr }: TeStreams, message: string): void =>
  void stderr.write(`${showControls(message)}\n`);
