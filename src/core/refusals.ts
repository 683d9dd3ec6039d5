import { LlmcError, withHint } from "../base/error.ts";
import { missingScope } from "../policy/cedar/default-policies.ts";
import type { PolicyDecision } from "../policy/cedar/model.ts";
import { publicName } from "../policy/cedar/positions.ts";
import type { ProgramRequest } from "../policy/permit.ts";
import { type Caller, LOCAL, principalName } from "../tools/contract.ts";

interface Refused {
  /** What the caller wanted. */
  readonly name: string;
  /** The command that shows the operator why, without who called. */
  readonly explain: string;
  readonly caller: Pick<Caller, "principal">;
}

/** What holds for a token may not hold for whoever needs none, which is what the command explains by itself. */
const explainFor = ({ explain, caller: { principal } }: Refused): string =>
  principal === LOCAL ? explain : `${explain} --principal ${principalName(principal)}`;

/** A refusal by policy, in the caller's words: it names no folder of the operator's. */
export const refuseByPolicy = (
  refused: Refused,
  { policies, brokenAt, failure }: PolicyDecision,
): LlmcError => {
  const { name } = refused;
  const explain = explainFor(refused);
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

/** A name that anybody chose, as a word of a command line that means nothing else: neither an option nor anything for a shell. */
const asWord = (name: string, other: string): string => (/^\w[\w.+-]*$/.test(name) ? name : other);

export const explainTool = (tool: string): string => `llmc policy explain ${tool}`;

/** Names of knowledge bases and flows may be anything, too. */
export const explainKnowledge = (tool: string, type: "Collection" | "Flow", id: string): string =>
  `${explainTool(tool)} --${type.toLowerCase()} ${asWord(id, "NAME")}`;

/** Names of programs may be anything that a client sent. */
const explainProgram = (program: string): string =>
  `llmc policy explain run_cmd --program ${asWord(program, "PROGRAM")}`;

export const explainHost = (host: string): string => `llmc policy explain ask_model --host ${host}`;

const NOT_MIDWAY = "Nobody is asked in the middle of a line: run it by itself";

export const refuseProgram = (
  { program, realName, needs, isMidway = false }: ProgramRequest,
  decision: PolicyDecision,
  caller: Caller,
): LlmcError => {
  const isOnlyUnlisted =
    decision.policies.length === 0 && decision.failure === undefined && decision.brokenAt === undefined;
  const refusal =
    needs !== undefined && isOnlyUnlisted
      ? needs.refusal
      : refuseByPolicy({ name: program, explain: explainProgram(program), caller }, decision);
  return withHint(
    refusal,
    [
      ...(realName === program || isOnlyUnlisted ? [] : [`The program is a link to ${realName}`]),
      ...(isMidway ? [NOT_MIDWAY] : []),
    ].join(". ") || undefined,
  );
};
