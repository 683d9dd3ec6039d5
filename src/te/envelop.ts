import { createEnvelope } from "../envelope/envelope.ts";
import { envelopeSettings } from "../envelope/settings.ts";
import { runDirect } from "../host/run/direct.ts";
import { NOTHING_QUARANTINED } from "../host/run/scan/quarantined.ts";
import { directCall, type RunContext, type RunRequest } from "./run-context.ts";

/** Up to this size, output that is shown unchanged is written as the original bytes: not every output is UTF-8. */
const MAX_HELD_BYTES = 1_048_576;

const createHeld = () => {
  const chunks: Buffer[] = [];
  let bytes = 0;
  return {
    push: (chunk: Buffer): void => {
      bytes += chunk.length;
      if (bytes <= MAX_HELD_BYTES) chunks.push(Buffer.from(chunk));
    },
    /** The original bytes where they decode to this text, otherwise the text. */
    insteadOf: (text: string): Buffer | string => {
      if (bytes > MAX_HELD_BYTES) return text;
      const whole = Buffer.concat(chunks);
      return whole.toString("utf8") === text ? whole : text;
    },
  };
};

/** Runs the command and prints its output in few tokens. */
export const envelop = async (request: RunRequest, context: RunContext): Promise<number> => {
  const { argv, json, raw } = request;
  const { session, config, state, streams: to } = context;
  const held = { stdout: createHeld(), stderr: createHeld() };
  const envelope = createEnvelope({
    launch: async ({ onOutput }) => {
      const take: typeof onOutput = (stream, chunk) => {
        held[stream].push(chunk);
        onOutput(stream, chunk);
      };
      const outcome = await runDirect({ ...directCall(request, context), onOutput: take });
      if (outcome.failure !== undefined) take("stderr", Buffer.from(`te: ${outcome.failure}\n`));
      return {
        ...outcome,
        timedOut: false,
        tier: null,
        quarantined: NOTHING_QUARANTINED,
        programs: [],
        sole: argv,
      };
    },
    handles: state?.handles,
    usage: state?.usage,
    settings: () => envelopeSettings(config.te, config.handles.max_each_mb),
    onFailure: () => {},
  });
  const { document, keepsAll } = await envelope.run({ command: argv, raw }, session);
  if (json) {
    to.stdout.write(`${JSON.stringify(document)}\n`);
    return document.exit_code;
  }
  const { stdout, stderr, enrichment } = document;
  to.stdout.write(held.stdout.insteadOf(stdout));
  to.stderr.write(held.stderr.insteadOf(stderr));
  if (enrichment.truncated) {
    const where = enrichment.handle === null ? "te --raw shows all" : `all: te --handle ${enrichment.handle}`;
    to.stdout.write(
      `${stdout === "" || stdout.endsWith("\n") ? "" : "\n"}[${keepsAll ? "in short" : "cut"}; ${where}]\n`,
    );
  }
  return document.exit_code;
};
