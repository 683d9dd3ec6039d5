import type { HeldTarget } from "../../policy/git-held-targets.ts";
import type { CommandRunner, JudgedCommand } from "./contract.ts";

/** Of the names of a few files. */
const MAX_ANSWER_BYTES = 16_384;

/** The same program in the same place, which may only read. */
const asQuestion = (
  { request, profile }: JudgedCommand,
  args: readonly string[],
  onOutput: JudgedCommand["request"]["onOutput"],
): JudgedCommand => {
  const [program] = request.argv;
  const { writable, readableRoots = [], writableAgain: _, ...rest } = profile;
  return {
    request: { ...request, argv: [program, ...args], onOutput },
    profile: { ...rest, writable: [], protectedInside: [], readableRoots: [...writable, ...readableRoots] },
  };
};

/**
 * Asks git whether a command would have to change or remove a path that is held: git itself notices that only when it
 * has changed the rest.
 */
export const refuseHeldTarget = async (
  { args, refusal, unknown }: HeldTarget,
  command: JudgedCommand,
  runner: Pick<CommandRunner, "runTogether">,
  signal: AbortSignal | undefined,
): Promise<void> => {
  let answer = "";
  const question = asQuestion(command, args, (stream, chunk) => {
    if (stream === "stdout" && answer.length < MAX_ANSWER_BYTES) answer += chunk.toString();
  });
  const [outcome] = await runner.runTogether([question], signal);
  if (outcome?.exitCode !== 0) {
    const refused = unknown();
    if (refused !== undefined) throw refused;
    // What is neither commit nor path is for git itself to explain.
    return;
  }
  const [name = ""] = answer.split("\0");
  if (name !== "") throw refusal(name);
};
