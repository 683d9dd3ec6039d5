import { ACTION_GROUPS, CONTEXT, LABELS, type PolicyAction, PRINCIPAL, RESOURCES } from "./model.ts";

type Value = string | boolean | readonly string[];
type Attributes = Readonly<Record<string, Value>>;

const typeOf = (value: Value): string => {
  if (typeof value === "boolean") return "Bool";
  return typeof value === "string" ? "String" : "Set<String>";
};

const record = (attributes: Attributes): string =>
  `{ ${Object.entries(attributes)
    .map(([name, value]) => `${name}: ${typeOf(value)}`)
    .join(", ")} }`;

/** The attributes of a table, and nothing else that a value has. */
export const attributesIn = (table: Attributes, value: object): Record<string, string | boolean | string[]> =>
  Object.fromEntries(
    Object.keys(table).map((name) => {
      const held = (value as Attributes)[name] ?? "";
      return [name, typeof held === "object" ? [...held] : held];
    }),
  );

const LABEL_TYPES = Object.values(LABELS).join(", ");

/** The schema that policies are validated against, with every request there is: what can never apply is noticed. */
export const policySchema = (actions: readonly PolicyAction[]): string =>
  [
    `type Context = ${record(CONTEXT)};`,
    `entity ${LABEL_TYPES};`,
    `entity Principal in [${LABEL_TYPES}] ${record(PRINCIPAL)};`,
    ...Object.entries(RESOURCES).map(
      ([type, attributes]) => `entity ${type}${type === "File" ? " in [File]" : ""} ${record(attributes)};`,
    ),
    ...ACTION_GROUPS.map((group) => `action ${JSON.stringify(group)};`),
    ...actions.map(({ name, groups, about }) => {
      const parents = groups.map((group) => `Action::${JSON.stringify(group)}`).join(", ");
      return `action ${JSON.stringify(name)} in [${parents}] appliesTo { principal: Principal, resource: [${about.join(", ")}], context: Context };`;
    }),
    "",
  ].join("\n");
