/**
 * The policies that are always in force. `permit` says what may be done, some of it with consent; `forbid` states
 * limits that no policy of an operator lifts. `@prompt` is what the user is asked where only their consent is missing.
 * `default-decision.ts` says the same without Cedar; a test compares the two.
 */
export const DEFAULT_POLICIES = `
@id("llmc.workspace")
permit (
  principal,
  action in [Action::"read", Action::"write", Action::"execute", Action::"egress"],
  resource is Workspace
);

@id("llmc.files")
@prompt("Allow access outside the allowed folders?")
permit (principal, action in Action::"read", resource is File)
when { context.granted };

@id("llmc.commands")
@prompt("Allow this command?")
permit (principal, action in Action::"execute", resource is Command)
when { (resource.allowlisted && resource.missing_powers.isEmpty()) || context.granted };

@id("llmc.hosts")
permit (principal, action in Action::"egress", resource is Host)
when { resource.listed };

@id("llmc.collections")
permit (principal, action in Action::"kb", resource is Collection);

@id("llmc.flows")
@prompt("Allow flow execution?")
permit (principal, action in Action::"kb", resource is Flow)
when { context.granted };

@id("llmc.admin")
@prompt("Allow admin access?")
permit (principal, action in Action::"admin", resource)
when { context.granted };

@id("llmc.metrics")
permit (principal, action in Action::"metrics", resource);

@id("llmc.scope.read")
forbid (principal, action in Action::"read", resource)
unless { principal.scopes.contains("read") };

@id("llmc.scope.write")
forbid (principal, action in Action::"write", resource)
unless { principal.scopes.contains("write") };

@id("llmc.scope.execute")
forbid (principal, action in Action::"execute", resource)
unless { principal.scopes.contains("execute") };

@id("llmc.scope.egress")
forbid (principal, action in Action::"egress", resource)
unless { principal.scopes.contains("egress") };

@id("llmc.scope.metrics")
forbid (principal, action in Action::"metrics", resource)
unless { principal.scopes.contains("metrics") };

@id("llmc.air-gap")
forbid (principal, action in Action::"egress", resource is Host)
when { context.air_gapped && !resource.local };
`;

/** In force instead of nothing where the operator sets `default_deny = false`: what no policy forbids is permitted. */
export const OPEN_POLICY = `
@id("llmc.open")
permit (principal, action, resource);
`;

/** The questions of `@prompt`, by policy. */
export const DEFAULT_PROMPTS: Readonly<Record<string, string>> = Object.fromEntries(
  [...DEFAULT_POLICIES.matchAll(/@id\("([^"]+)"\)\n@prompt\("([^"]+)"\)/g)].map(
    ([, id = "", prompt = ""]) => [id, prompt],
  ),
);

const OWN_PREFIX = "llmc.";
const SCOPE = /^llmc\.scope\.(\w+)$/;

export const isDefaultPolicy = (id: string): boolean => id.startsWith(OWN_PREFIX);

/** The scope whose lack made a decision. */
export const missingScope = (policies: readonly string[]): string | undefined =>
  policies.flatMap((id) => SCOPE.exec(id)?.[1] ?? [])[0];
