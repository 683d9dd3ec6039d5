import { LlmcError } from "../base/error.ts";
import { missingScope } from "../policy/cedar/default-policies.ts";
import type { PolicyDecision } from "../policy/cedar/model.ts";
import { publicName } from "../policy/cedar/positions.ts";

interface Refused {
  /** What the caller wanted. */
  readonly name: string;
  /** The command that shows the operator why. */
  readonly explain: string;
}

/** A refusal by policy, in the caller's words: it names no folder of the operator's. */
export const refuseByPolicy = (
  { name, explain }: Refused,
  { policies, brokenAt, failure }: PolicyDecision,
): LlmcError => {
  if (brokenAt !== undefined)
    return new LlmcError("forbidden", `Everything is refused, because a policy has an error: ${brokenAt}.`, {
      hint: "llmc policy check shows the operator what is wrong; a corrected file takes effect at once.",
    });
  const [policy] = policies;
  if (failure !== undefined)
    return new LlmcError(
      "forbidden",
      policy === undefined
        ? `Policy could not decide on ${name}.`
        : `The policy ${publicName(policy)} failed, so that ${name} could not be decided on.`,
      { hint: `What cannot be decided is refused. The server's log and ${explain} say why.` },
    );
  const scope = missingScope(policies);
  if (scope !== undefined)
    return new LlmcError("forbidden", `This caller may not use ${name}: it lacks the scope "${scope}".`, {
      hint: "The operator grants scopes in mcp.auth.tokens.",
    });
  return new LlmcError(
    "forbidden",
    policy === undefined
      ? `No policy permits ${name}.`
      : `The policy ${publicName(policy)} does not allow ${name}.`,
    { hint: `The operator decides in mcp.security.policy_files: ${explain} shows why.` },
  );
};

export const explainTool = (tool: string): string => `llmc policy explain ${tool}`;

/** Names of programs may be anything that a client sent. */
export const explainProgram = (program: string): string =>
  `llmc policy explain run_cmd --program ${/^[\w.+-]+$/.test(program) ? program : "PROGRAM"}`;

export const explainHost = (host: string): string => `llmc policy explain ask_model --host ${host}`;
