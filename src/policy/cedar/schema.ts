import { ACTION_GROUPS, type ActionGroup, type PolicyAction, type PolicyResource } from "./model.ts";

const ENTITIES = `
type Context = { mode: String, profile: String, air_gapped: Bool, granted: Bool };
entity Agent, Session;
entity Principal in [Agent, Session] { scopes: Set<String>, transport: String };
entity Workspace, Server, Collection, Flow;
entity File { in_root: Bool, denied: Bool, protected: Bool };
entity Command { allowlisted: Bool, missing_powers: Set<String> };
entity Host { listed: Bool };
`;

/** What the actions of each group are about; a request about anything else is refused. */
export const RESOURCES: Readonly<Record<ActionGroup, readonly PolicyResource["type"][]>> = {
  read: ["Workspace", "File", "Collection"],
  write: ["Workspace", "File", "Collection"],
  execute: ["Workspace", "File", "Command"],
  egress: ["Workspace", "Host"],
  flow: ["Flow"],
  admin: ["Server"],
  metrics: ["Server"],
};

/** The schema that policies are validated against, with every action there is: a misspelt tool is an error. */
export const policySchema = (actions: readonly PolicyAction[]): string =>
  [
    ENTITIES.trimStart(),
    ...ACTION_GROUPS.map((group) => `action ${JSON.stringify(group)};\n`),
    ...actions.map(
      ({ name, group }) =>
        `action ${JSON.stringify(name)} in [Action::${JSON.stringify(group)}] appliesTo { principal: Principal, resource: [${RESOURCES[group].join(", ")}], context: Context };\n`,
    ),
  ].join("");
