import { z } from "zod";
import { defineTool } from "./tool.ts";

/** Of each stream, what is kept at all. */
const MAX_KEPT_BYTES = 1_048_576;
/** Of each stream, what is shown at once: about 5,000 tokens. */
const MAX_SHOWN_CHARS = 20_000;

const shown = (text: string): string =>
  text.length <= MAX_SHOWN_CHARS
    ? text
    : text.slice(0, text.lastIndexOf("\n", MAX_SHOWN_CHARS) + 1 || MAX_SHOWN_CHARS);

export const runCmd = defineTool({
  name: "run_cmd",
  description: "Run one allowlisted program, without a shell.",
  effect: "execute",
  // The command has a deadline of its own, which is shorter than this.
  timeoutMs: 86_400_000,
  input: z.strictObject({
    command: z.string().min(1).max(32_768),
    timeout: z.int().min(1).max(86_400).optional().describe("seconds"),
    cwd: z.string().min(1).optional(),
  }),
  output: z.object({
    data: z.object({ stdout: z.string(), stderr: z.string(), exit_code: z.int() }),
    meta: z.object({
      /** How well the command was held: bubblewrap, landlock or plain. */
      tier: z.string(),
      duration_ms: z.number(),
      timed_out: z.boolean(),
      truncated: z.boolean(),
      handle: z.string().nullable(),
    }),
  }),
  run: async ({ command, timeout, cwd }, { commands, handles }, { signal }) => {
    const outcome = await commands.run(
      { command, cwd, timeoutSeconds: timeout, maxOutputBytes: MAX_KEPT_BYTES },
      signal,
    );
    const stdout = outcome.stdout.toString("utf8");
    const stderr = outcome.stderr.toString("utf8");
    const isLong = stdout.length > MAX_SHOWN_CHARS || stderr.length > MAX_SHOWN_CHARS;
    const handle = isLong
      ? await handles.put(
          "output",
          "",
          `${stdout}${stderr === "" ? "" : `\n[stderr]\n${stderr}`}`.split("\n"),
        )
      : null;
    return {
      data: { stdout: shown(stdout), stderr: shown(stderr), exit_code: outcome.exitCode ?? -1 },
      meta: {
        tier: outcome.tier,
        duration_ms: Math.round(outcome.durationMs),
        timed_out: outcome.timedOut,
        truncated:
          isLong ||
          outcome.stdoutBytes > outcome.stdout.length ||
          outcome.stderrBytes > outcome.stderr.length,
        handle,
      },
    };
  },
  render: ({ data, meta }) => {
    const notes = [
      ...(meta.timed_out
        ? ["stopped at its deadline"]
        : data.exit_code === 0
          ? []
          : [`exit ${data.exit_code}`]),
      ...(meta.truncated ? [`cut${meta.handle === null ? "" : `; all: handle:${meta.handle}`}`] : []),
    ];
    const parts = [
      data.stdout.trimEnd(),
      ...(data.stderr.trim() === "" ? [] : [`[stderr]\n${data.stderr.trimEnd()}`]),
      ...(notes.length === 0 ? [] : [`[${notes.join("; ")}]`]),
    ];
    return parts.filter((part) => part !== "").join("\n") || "[no output]";
  },
});
