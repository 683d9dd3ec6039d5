import { showControls } from "../base/text.ts";
import type { TeStreams } from "./parts.ts";

/** Says something of te's own on stderr, whatever names are in it. */
export const tell = ({ stderr }: TeStreams, message: string): void =>
  void stderr.write(`${showControls(message)}\n`);
