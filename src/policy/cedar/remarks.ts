import type { PolicyJson } from "@cedar-policy/cedar-wasm/nodejs";

const OWN_PREFIX = "llmc.";

const isUnconditional = ({ effect, principal, action, resource, conditions }: PolicyJson): boolean =>
  effect === "permit" &&
  [principal, action, resource].every(({ op }) => op === "All") &&
  conditions.every(({ kind, body }) => "Value" in body && body.Value === (kind === "when"));

/** What clients say of themselves. */
const LABELS = /"(?:Agent|Session)"|"attr":"profile"/;

const COMMANDS = /"(?:entity_)?type":"Command"/;

/** A tool is decided on first, and each program that it starts as an action of its own. */
const isAboutCommandsOfTool = ({ action, resource }: PolicyJson): boolean =>
  action.op === "==" &&
  !JSON.stringify(action).includes('"start_program"') &&
  COMMANDS.test(JSON.stringify(resource));

const FILES = /"(?:entity_)?type":"File"/;

/** What is wrong with a policy that Cedar itself accepts, and what its author should know. */
export const remarksOn = (
  json: PolicyJson,
  id: string,
): { readonly problems: readonly string[]; readonly warnings: readonly string[] } => ({
  problems: [
    ...(id.startsWith(OWN_PREFIX)
      ? [`the id "${id}" is reserved: ids that begin with ${OWN_PREFIX} are llmc's own`]
      : []),
    ...(isUnconditional(json)
      ? [
          "this permits everything to everybody: name a principal, an action or a resource, or add a condition (mcp.security.default_deny = false is the way to permit what nothing forbids)",
        ]
      : []),
  ],
  warnings: [
    ...(json.effect === "permit" && LABELS.test(JSON.stringify(json))
      ? [
          "Agent, Session and context.profile are labels that clients choose: whoever claims one gets what this permits",
        ]
      : []),
    ...(isAboutCommandsOfTool(json)
      ? ['this never applies: programs are decided on as Action::"start_program", whatever tool starts them']
      : []),
    ...(FILES.test(JSON.stringify(json.resource))
      ? [
          "only paths outside the roots are decided on by policy: what may be reached inside is up to mcp.tools.allowed_roots and denylist_globs",
        ]
      : []),
  ],
});
