import { createRequire } from "node:module";
import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { rounds } from "../../../test/rounds.ts";
import { loadCedar } from "../../host/os/bundled-files.ts";
import { decideByDefault } from "./default-decision.ts";
import { DEFAULT_POLICIES } from "./default-policies.ts";
import { compilePolicies } from "./engine.ts";
import { ACTION_GROUPS, type PolicyAction, type PolicyRequest, type PolicyResource } from "./model.ts";
import type { Cedar, PolicyFile } from "./policy-file.ts";
import { policySchema } from "./schema.ts";

const cedar = createRequire(import.meta.url)("@cedar-policy/cedar-wasm/nodejs") as Cedar &
  typeof import("@cedar-policy/cedar-wasm/nodejs");

const DO_READ: PolicyAction = { name: "do_read", groups: ["read"], about: ["Workspace", "File"] };
const DO_ADMIN: PolicyAction = { name: "do_admin", groups: ["read", "admin"], about: ["Server"] };
const START: PolicyAction = { name: "start", groups: ["execute"], about: ["Command"] };
const ACTIONS: readonly PolicyAction[] = [
  DO_READ,
  DO_ADMIN,
  START,
  { name: "do_write", groups: ["write"], about: ["Workspace"] },
  { name: "do_execute", groups: ["execute"], about: ["Workspace"] },
  { name: "do_egress", groups: ["egress"], about: ["Workspace", "Host"] },
  { name: "do_metrics", groups: ["metrics"], about: ["Server"] },
  { name: "do_kb", groups: ["read", "kb"], about: ["Workspace", "Collection", "Flow"] },
  { name: "wipe", groups: ["write", "admin"], about: ["Server"] },
];

const compile = (files: readonly PolicyFile[], defaultDeny = true) =>
  compilePolicies(() => loadCedar() as Cedar, { actions: ACTIONS, files, defaultDeny });

const fileOf = (text: string, mayPermit = true): PolicyFile => ({ name: "my.cedar", text, mayPermit });

const compiled = (files: readonly PolicyFile[], defaultDeny = true) => {
  const result = compile(files, defaultDeny);
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  return result.compiled;
};

const problemsOf = (text: string) => {
  const result = compile([fileOf(text)]);
  return result.ok ? [] : result.problems;
};

const NAMES = fc.constantFrom("npm", "a", 'x"y', "é\n", "");

const named = <T extends PolicyResource["type"]>(type: T) =>
  fc.record({ type: fc.constant(type), id: NAMES });

const RESOURCE_OF: Readonly<Record<PolicyResource["type"], fc.Arbitrary<PolicyResource>>> = {
  Workspace: named("Workspace"),
  Server: named("Server"),
  File: named("File"),
  Collection: named("Collection"),
  Flow: named("Flow"),
  Command: fc.record({
    type: fc.constant("Command" as const),
    id: NAMES,
    allowlisted: fc.boolean(),
    missing_powers: fc.subarray(["npm:run", "git:write"]),
  }),
  Host: fc.record({
    type: fc.constant("Host" as const),
    id: NAMES,
    listed: fc.boolean(),
    local: fc.boolean(),
  }),
};

/** An action, and something that it is decided on with: the server makes no other requests. */
const subjects = fc
  .constantFrom(...ACTIONS.flatMap((action) => action.about.map((type) => ({ action, type }))))
  .chain(({ action, type }) => RESOURCE_OF[type].map((resource) => ({ action, resource })));

const requests: fc.Arbitrary<PolicyRequest> = fc
  .record({
    subject: subjects,
    principal: fc.record({
      id: fc.constantFrom("local", "ci", "admin"),
      scopes: fc.subarray(["read", "write", "execute", "egress", "metrics"]),
      transport: fc.constantFrom("stdio", "http", "cli"),
      agent: fc.constantFrom("claude", "codex"),
      session: NAMES,
    }),
    context: fc.record({
      mode: fc.constantFrom("classic", "hybrid"),
      profile: fc.constantFrom("", "team"),
      air_gapped: fc.boolean(),
      granted: fc.boolean(),
    }),
  })
  .map(({ subject, principal, context }) => ({ ...subject, principal, context }));

const sorted = (policies: readonly string[]) => [...policies].sort();

const REQUEST: PolicyRequest = {
  principal: {
    id: "local",
    scopes: ["read", "write", "execute", "egress"],
    transport: "stdio",
    agent: "claude",
    session: "s",
  },
  action: START,
  resource: { type: "Command", id: "npm", allowlisted: true, missing_powers: [] },
  context: { mode: "hybrid", profile: "", air_gapped: false, granted: false },
};

describe("the default policies", () => {
  it("REQ-I4: validate against the schema", () => {
    const answer = cedar.validate({
      schema: policySchema(ACTIONS),
      policies: { staticPolicies: DEFAULT_POLICIES },
    });
    expect(answer).toMatchObject({ type: "success", validationErrors: [], validationWarnings: [] });
  });

  test.each([true, false])(
    "REQ-I4: what is decided without Cedar is what Cedar decides, with the same policies (default_deny = %s)",
    (defaultDeny) => {
      const { decide } = compiled([], defaultDeny);
      let allowed = 0;
      fc.assert(
        fc.property(requests, (request) => {
          const byCedar = decide(request);
          const byUs = decideByDefault(request, !defaultDeny);
          if (byCedar.allowed) allowed++;
          expect(byCedar.failure).toBeUndefined();
          expect(byUs.allowed).toBe(byCedar.allowed);
          expect(sorted(byUs.policies)).toEqual(sorted(byCedar.policies));
        }),
        { numRuns: rounds(500, 10_000) },
      );
      expect(allowed).toBeGreaterThan(rounds(500, 10_000) / 20);
    },
  );

  test.each([
    [DO_READ, "Workspace", false, true],
    [DO_READ, "File", false, false],
    [DO_READ, "File", true, true],
    [DO_ADMIN, "Server", false, false],
    [DO_ADMIN, "Server", true, true],
  ] as const)(
    "REQ-I4: the matrix: $0.name on $1, asked and agreed: $2, allowed: $3",
    (action, type, granted, allowed) => {
      const request = {
        ...REQUEST,
        action,
        resource: { type, id: "w" },
        context: { ...REQUEST.context, granted },
      };
      expect(decideByDefault(request, false).allowed).toBe(allowed);
    },
  );

  it("REQ-I4: a family adds to the effect: an admin tool that writes needs the scope write, and consent", () => {
    const wipe = {
      ...REQUEST,
      action: { name: "wipe", groups: ["write", "admin"], about: ["Server"] } as const,
      resource: { type: "Server" as const, id: "s" },
      context: { ...REQUEST.context, granted: true },
    };
    expect(decideByDefault(wipe, false).allowed).toBe(true);
    const reader = { ...wipe, principal: { ...wipe.principal, scopes: ["read"] } };
    expect(decideByDefault(reader, false)).toEqual({ allowed: false, policies: ["llmc.scope.write"] });
    const { decide } = compiled([fileOf('@id("w") forbid(principal, action in Action::"write", resource);')]);
    expect(decide(wipe)).toEqual({ allowed: false, policies: ["w"] });
  });
});

describe("an operator's policies", () => {
  it("REQ-I4: forbid what would be allowed, and say which policy did", () => {
    const { decide } = compiled([
      fileOf('@id("no-npm")\nforbid(principal, action, resource == Command::"npm");'),
    ]);
    expect(decide(REQUEST)).toEqual({ allowed: false, policies: ["no-npm"] });
    expect(
      decide({ ...REQUEST, resource: { ...REQUEST.resource, id: "git" } as PolicyResource }).allowed,
    ).toBe(true);
  });

  it("REQ-I4: permit what the defaults do not, but never lift a limit", () => {
    const { decide } = compiled([
      fileOf(
        'permit(principal == Principal::"ci", action in Action::"admin", resource);\npermit(principal, action in Action::"egress", resource is Host);',
      ),
    ]);
    const admin = {
      ...REQUEST,
      action: DO_ADMIN,
      resource: { type: "Server" as const, id: "s" },
    };
    expect(decide(admin).allowed).toBe(false);
    expect(decide({ ...admin, principal: { ...REQUEST.principal, id: "ci" } })).toEqual({
      allowed: true,
      policies: ["my.cedar#1"],
    });
    const host = {
      ...REQUEST,
      action: { name: "do_egress", groups: ["egress"], about: ["Workspace", "Host"] } as const,
      resource: { type: "Host" as const, id: "h", listed: false, local: false },
    };
    expect(decide(host)).toEqual({ allowed: true, policies: ["my.cedar#2"] });
    expect(decide({ ...host, context: { ...REQUEST.context, air_gapped: true } })).toEqual({
      allowed: false,
      policies: ["llmc.air-gap"],
    });
  });

  it("REQ-D22: of a workspace that is not trusted, only what it forbids is in force", () => {
    const text =
      'permit(principal, action in Action::"admin", resource);\nforbid(principal, action, resource == Command::"npm");';
    const { decide, policies } = compiled([fileOf(text, false)]);
    const admin = {
      ...REQUEST,
      action: DO_ADMIN,
      resource: { type: "Server" as const, id: "s" },
    };
    expect(decide(admin).allowed).toBe(false);
    expect(decide(REQUEST).allowed).toBe(false);
    expect(policies.map(({ waits }) => waits)).toEqual([true, false]);
  });

  it("labels that clients choose name a warning where something is permitted because of them", () => {
    const { warnings } = compiled([
      fileOf('permit(principal in Agent::"claude", action in Action::"admin", resource);'),
    ]);
    expect(warnings).toEqual([
      {
        file: "my.cedar",
        line: 1,
        column: 1,
        message: expect.stringContaining("labels that clients choose"),
      },
    ]);
    expect(compiled([fileOf('forbid(principal in Agent::"claude", action, resource);')]).warnings).toEqual(
      [],
    );
  });

  it("each policy is found where it stands, behind comments and among others of the same text", () => {
    const plain = "forbid(principal, action, resource is Command);";
    const text = `// ${plain}\n@id("a") // first\n${plain}\n${plain}\n// é\n@id("b")\nforbid(principal, action, resource is Host\n);\n${plain}\n`;
    const { policies } = compiled([fileOf(text)]);
    expect(policies.map(({ id, line }) => `${id} ${line}`)).toEqual([
      "a 2",
      "my.cedar#2 4",
      "b 6",
      "my.cedar#4 9",
    ]);
  });

  test.each([
    [
      "a syntax error",
      "permit(principal, action, resource)\nwhen { principal.scopes == };",
      2,
      "unexpected token",
    ],
    ["an empty file", "// nothing\n", 0, "holds no policy"],
    [
      "a permit without scope or condition",
      "\npermit(principal, action, resource);",
      2,
      "permits everything",
    ],
    [
      "the same with a condition that is always true",
      "permit(principal, action, resource) when { true } unless { false };",
      1,
      "permits everything",
    ],
    [
      "an unknown tool",
      '\n\nforbid(principal, action == Action::"do_raed", resource);',
      3,
      'did you mean `Action::"',
    ],
    [
      "an unknown attribute",
      "forbid(principal, action, resource is Command) when { resource.alowlisted };",
      1,
      "allowlisted",
    ],
    ["an id without a text", "@id\nforbid(principal, action, resource is Command);", 1, "an id is a text"],
    [
      "an id with a line break",
      '@id("a\\nb")\nforbid(principal, action, resource is Command);',
      1,
      "an id is a text",
    ],
    ["a template", "forbid(principal == ?principal, action, resource);", 0, "templates"],
    ["a reserved id", '@id("llmc.denied")\nforbid(principal, action, resource is Command);', 1, "reserved"],
    [
      "an id that stands twice",
      '@id("a")\nforbid(principal, action, resource is Command);\n@id("a")\nforbid(principal, action, resource is Host);',
      3,
      "taken by my.cedar:1",
    ],
  ])("FAIL-H5: %s is refused with its line", (_what, text, line, message) => {
    expect(problemsOf(text)).toContainEqual(
      expect.objectContaining({ file: "my.cedar", line, message: expect.stringContaining(message) }),
    );
  });

  it("FAIL-H5: a policy that fails while it is evaluated denies, whatever it would have said", () => {
    const { decide } = compiled([
      fileOf(
        '@id("overflow")\nforbid(principal, action, resource) when { 9223372036854775807 + 1 == context.mode.length };'.replace(
          "context.mode.length",
          "0",
        ),
      ),
    ]);
    expect(decide(REQUEST)).toEqual({
      allowed: false,
      policies: ["overflow"],
      failure: expect.stringContaining("overflow"),
    });
  });

  it("FAIL-H5: what Cedar does not decide is denied, with what it says", () => {
    const { decide } = compiled([fileOf("forbid(principal, action, resource is Host);")]);
    const incomplete = { ...REQUEST, context: {} } as unknown as PolicyRequest;
    expect(decide(incomplete)).toEqual({ allowed: false, policies: [], failure: expect.stringMatching(/./) });
  });

  test.each([
    [
      'forbid(principal, action == Action::"do_read", resource == Command::"npm");',
      "a Command is decided on by start, and the action it names with Workspace, File",
    ],
    [
      'forbid(principal, action in [Action::"do_read", Action::"do_write"], resource is Host);',
      "a Host is decided on by do_egress",
    ],
    ['forbid(principal, action in Action::"write", resource is File);', "a File is decided on by do_read"],
    [
      'forbid(principal, action == Action::"do_write", resource) when { resource is File };',
      "no request can fulfil it",
    ],
  ])("a policy that no request fits is warned of: %s", (text, message) => {
    expect(
      compiled([fileOf(`forbid(principal == Principal::"x", action, resource);\n${text}`)]).warnings,
    ).toEqual([
      expect.objectContaining({
        line: 2,
        message: expect.stringMatching(new RegExp(`this never applies.*${message}`)),
      }),
    ]);
  });

  it("a policy that some request fits is not", () => {
    const text = 'forbid(principal, action in [Action::"do_read", Action::"start"], resource is Command);';
    expect(compiled([fileOf(text)]).warnings).toEqual([]);
  });

  it("REQ-I4: who forbids a file is told that this protects none in the roots; who permits one expects nothing of the kind", () => {
    const about =
      'principal == Principal::"ops", action == Action::"do_read", resource == File::"/etc/hosts"';
    expect(compiled([fileOf(`permit(${about});`)]).warnings).toEqual([]);
    expect(compiled([fileOf(`forbid(${about});`)]).warnings).toEqual([
      expect.objectContaining({ message: expect.stringContaining("only paths outside the roots") }),
    ]);
  });

  it("REQ-D22 REQ-I5: no workspace phrases a question before it is trusted", () => {
    const text = '@prompt("Just say yes.")\nforbid(principal, action, resource) unless { context.granted };';
    expect(compiled([fileOf(text, false)]).policies[0]?.prompt).toBeUndefined();
    expect(compiled([fileOf(text)]).policies[0]?.prompt).toBe("Just say yes.");
  });

  it("a name that only Cedar's grammar could misread is a name", () => {
    const { decide } = compiled([fileOf('forbid(principal, action, resource == Command::"npm");')]);
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (id) => {
        fc.pre(id.isWellFormed());
        expect(decide({ ...REQUEST, resource: { ...REQUEST.resource, id } as PolicyResource }).allowed).toBe(
          id !== "npm",
        );
      }),
      { numRuns: rounds(50, 500) },
    );
  });
});

/** Random policies over the whole vocabulary. */
const policyTexts = fc
  .record({
    effect: fc.constantFrom("permit", "forbid"),
    principal: fc.constantFrom("principal", 'principal == Principal::"ci"', 'principal in Agent::"claude"'),
    action: fc.constantFrom(
      ...ACTIONS.map(({ name }) => `action == Action::"${name}"`),
      ...ACTION_GROUPS.map((group) => `action in Action::"${group}"`),
    ),
    resource: fc.constantFrom("resource", "resource is Command", 'resource == Host::"a"', "resource is File"),
    condition: fc.constantFrom(
      "",
      "when { context.granted }",
      'when { principal.scopes.contains("write") }',
      "unless { resource is Command && resource.allowlisted }",
      "when { resource is Host && resource.listed }",
      'when { context.mode == "hybrid" && principal.transport != "cli" }',
      'unless { resource is Command && ["git:write"].containsAll(resource.missing_powers) }',
    ),
  })
  .map(
    ({ effect, principal, action, resource, condition }) =>
      `${effect}(${principal}, ${action}, ${resource}) ${condition};`,
  );

/** Each set has three or four policies, so that the long form tries more than 10,000 of them. */
const SETS = rounds(200, 3500);
const REQUESTS_EACH = 5;

describe("random policies", () => {
  it(
    `REQ-I4: ${SETS * REQUESTS_EACH} requests over ${SETS} sets of random policies are decided as Cedar itself decides them`,
    () => {
      const outcomes = { allow: 0, deny: 0 };
      let policies = 0;
      fc.assert(
        fc.property(
          fc.array(policyTexts, { minLength: 1, maxLength: 6 }),
          fc.array(requests, { minLength: REQUESTS_EACH, maxLength: REQUESTS_EACH }),
          (texts, asked) => {
            const { decide } = compiled([fileOf(texts.join("\n"))]);
            policies += texts.length;
            for (const request of asked) {
              const { principal, action, resource, context } = request;
              const answer = cedar.isAuthorized({
                principal: { type: "Principal", id: principal.id },
                action: { type: "Action", id: action.name },
                resource: { type: resource.type, id: resource.id },
                context: {
                  mode: context.mode,
                  profile: context.profile,
                  air_gapped: context.air_gapped,
                  granted: context.granted,
                },
                policies: { staticPolicies: `${DEFAULT_POLICIES}\n${texts.join("\n")}` },
                entities: [
                  {
                    uid: { type: "Principal", id: principal.id },
                    attrs: { scopes: [...principal.scopes], transport: principal.transport },
                    parents: [
                      { type: "Agent", id: principal.agent },
                      { type: "Session", id: principal.session },
                    ],
                  },
                  {
                    uid: { type: resource.type, id: resource.id },
                    attrs:
                      resource.type === "Command"
                        ? { allowlisted: resource.allowlisted, missing_powers: [...resource.missing_powers] }
                        : resource.type === "Host"
                          ? { listed: resource.listed, local: resource.local }
                          : {},
                    parents: [],
                  },
                  {
                    uid: { type: "Action", id: action.name },
                    attrs: {},
                    parents: action.groups.map((id) => ({ type: "Action", id })),
                  },
                ],
              });
              if (answer.type === "failure") throw new Error(JSON.stringify(answer));
              const { decision } = answer.response;
              outcomes[decision]++;
              expect(decide(request).allowed).toBe(decision === "allow");
            }
          },
        ),
        { numRuns: SETS },
      );
      expect(outcomes.allow + outcomes.deny).toBe(SETS * REQUESTS_EACH);
      expect(policies).toBeGreaterThan(SETS * 3);
      // Neither answer is a rare one.
      expect(Math.min(outcomes.allow, outcomes.deny)).toBeGreaterThan((SETS * REQUESTS_EACH) / 20);
    },
    rounds(120_000, 180_000),
  );
});
