import { z } from "zod";
import { showControls } from "../base/text.ts";
import type { CallContext } from "./contract.ts";
import type { Ports } from "./tool.ts";

type ProcessOutput = Awaited<ReturnType<Ports["processes"]["read"]>>;

/** Maximum output that is shown at once, about 2,000 tokens; the end is kept, because it shows the current state. */
const MAX_SHOWN_CHARS = 8000;

export const PROC_ID = z.string().min(1).max(64);
export const WAIT_MS = z.int().min(0).max(30_000);

export const processOutput = z.object({
  proc_id: z.string(),
  pid: z.int(),
  state: z.enum(["running", "ended"]),
  output: z.string(),
  /** Position to read on from, in bytes. */
  next: z.int(),
  lost_bytes: z.int(),
  /** It shows a prompt, or sleeps until it gets input. */
  waits_for_input: z.boolean(),
  truncated: z.boolean(),
  handle: z.string().nullable(),
  exit_code: z.int().nullable(),
  signal: z.string().nullable(),
  /** Why the server ended it, or the limit that it ran into. */
  reason: z.string().nullable(),
  /** Its sandbox tier: bubblewrap, landlock or plain. */
  tier: z.string(),
});

/** From the beginning of a line, unless a long line would take much of the page with it. */
const lastPart = (text: string): string => {
  const from = text.length - MAX_SHOWN_CHARS;
  const lineEnd = text.indexOf("\n", from - 1);
  return text.slice(lineEnd < 0 || lineEnd > from + MAX_SHOWN_CHARS / 4 ? from : lineEnd + 1);
};

/** Interpreters that, without a terminal, read a whole script before they run a line of it. */
const READS_A_SCRIPT =
  /(?:^|&&)\s*(?:\w+=\S*\s+)*(?:\S*\/)?(?:python[\d.]*|pypy[\d.]*|node|ruby|perl|lua|php)(?: -[a-zA-Z]+)*\s*$/;

/** Flags that make them interactive, or give them something else to do. */
const OTHERWISE_BUSY = /\s-[a-zA-Z]*[aceimprEV]/;

/** What texts tell besides the result. */
interface ForModel {
  readonly readsScript: boolean;
}

/** What the result carries; output that is long goes to a handle, and its end is shown. */
export const describeOutput = async (
  found: ProcessOutput,
  handles: Ports["handles"],
  { caller }: CallContext,
): Promise<z.infer<typeof processOutput> & ForModel> => {
  const { id, pid, state, text, next, lostBytes, waitsForInput, exitCode, signal, reason, tier } = found;
  const { command, pty } = found;
  const isLong = text.length > MAX_SHOWN_CHARS;
  return {
    proc_id: id,
    pid,
    state,
    output: isLong ? lastPart(text) : text,
    next,
    lost_bytes: lostBytes,
    waits_for_input: waitsForInput,
    truncated: isLong || lostBytes > 0,
    handle: isLong ? await handles.putText(caller, "output", "", text) : null,
    exit_code: exitCode ?? null,
    signal: signal ?? null,
    reason: reason ?? null,
    tier,
    readsScript: state === "running" && !pty && READS_A_SCRIPT.test(command) && !OTHERWISE_BUSY.test(command),
  };
};

/** How it ended, briefly; nothing while it runs. */
export const endNote = (view: {
  readonly state: string;
  readonly exit_code: number | null;
  readonly signal: string | null;
  readonly reason: string | null;
}): string => {
  if (view.state === "running") return "";
  const how = view.exit_code === null ? (view.signal ?? "ended") : `exit ${view.exit_code}`;
  return view.reason === null ? how : `${view.reason}; ${how}`;
};

const WAITS = "[waits for input: linux_proc_send]";
const WAITS_FOR_SCRIPT =
  "[reads a whole script, up to key ctrl-d; to run line by line, start it with pty: true or -i]";

export const renderOutput = (
  result: z.infer<typeof processOutput>,
  { readsScript }: z.infer<typeof processOutput> & ForModel,
): string => {
  const end = endNote(result);
  // A prompt speaks for itself; a program that waits in silence looks as if it worked.
  const isSilent = result.waits_for_input && /(^|\n)$/.test(result.output);
  const before = [
    ...(result.lost_bytes > 0 ? [`${result.lost_bytes} bytes before this are gone`] : []),
    ...(result.handle === null ? [] : [`cut; all: handle:${result.handle}`]),
  ];
  const parts = [
    ...(before.length === 0 ? [] : [`[${before.join("; ")}]`]),
    showControls(result.output.replace(/\n+$/, "")),
    ...(end === "" ? [] : [`[${end}]`]),
    ...(readsScript && result.output === "" ? [WAITS_FOR_SCRIPT] : isSilent ? [WAITS] : []),
  ];
  return parts.filter((part) => part !== "").join("\n") || "[running; no new output]";
};
