import { showControls } from "../base/text.ts";

/** Says something of te's own on stderr, whatever names are in it. */
export const tell = (message: string): void => void process.stderr.write(`${showControls(message)}\n`);
