import { createRequire } from "node:module";
import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { rounds } from "../../../test/rounds.ts";
import { decideByDefault } from "./default-decision.ts";
import { DEFAULT_POLICIES } from "./default-policies.ts";
import { type Cedar, compilePolicies, type PolicyFile } from "./engine.ts";
import { ACTION_GROUPS, type PolicyRequest, type PolicyResource } from "./model.ts";
import { policySchema, RESOURCES } from "./schema.ts";

const cedar = createRequire(import.meta.url)("@cedar-policy/cedar-wasm/nodejs") as Cedar &
  typeof import("@cedar-policy/cedar-wasm/nodejs");

const ACTIONS = ACTION_GROUPS.map((group) => ({ name: `do_${group}`, group }));

let slots = 0;
const compile = (files: readonly PolicyFile[], defaultDeny = true) =>
  compilePolicies(cedar, { slot: `test-${slots++}`, actions: ACTIONS, files, defaultDeny });

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

const resources: fc.Arbitrary<PolicyResource> = fc.oneof(
  fc.record({ type: fc.constantFrom("Workspace", "Server", "Collection", "Flow"), id: NAMES }),
  fc.record({
    type: fc.constant("File" as const),
    id: NAMES,
    inRoot: fc.boolean(),
    denied: fc.boolean(),
    isProtected: fc.boolean(),
  }),
  fc.record({
    type: fc.constant("Command" as const),
    id: NAMES,
    allowlisted: fc.boolean(),
    missingPowers: fc.subarray(["npm:run", "git:write"]),
  }),
  fc.record({ type: fc.constant("Host" as const), id: NAMES, listed: fc.boolean() }),
) as fc.Arbitrary<PolicyResource>;

const requests: fc.Arbitrary<PolicyRequest> = fc.record({
  principal: fc.record({
    id: fc.constantFrom("local", "ci", "admin"),
    scopes: fc.subarray(["read", "write", "execute", "egress", "metrics"]),
    transport: fc.constantFrom("stdio", "http", "cli"),
    agent: fc.constantFrom("claude", "codex"),
    session: NAMES,
  }),
  action: fc.constantFrom(...ACTIONS),
  resource: resources,
  context: fc.record({
    mode: fc.constantFrom("classic", "hybrid"),
    profile: fc.constantFrom("", "team"),
    airGapped: fc.boolean(),
    granted: fc.boolean(),
  }),
});

const sorted = (policies: readonly string[]) => [...policies].sort();

const REQUEST: PolicyRequest = {
  principal: {
    id: "local",
    scopes: ["read", "write", "execute", "egress"],
    transport: "stdio",
    agent: "claude",
    session: "s",
  },
  action: { name: "do_execute", group: "execute" },
  resource: { type: "Command", id: "npm", allowlisted: true, missingPowers: [] },
  context: { mode: "hybrid", profile: "", airGapped: false, granted: false },
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
      fc.assert(
        fc.property(requests, (request) => {
          const byCedar = decide(request);
          const byUs = decideByDefault(request, !defaultDeny);
          expect(byUs.allowed).toBe(byCedar.allowed);
          expect(sorted(byUs.policies)).toEqual(sorted(byCedar.policies));
        }),
        { numRuns: rounds(500, 10_000) },
      );
    },
  );

  test.each([
    ["do_read", "read", false, true],
    ["do_flow", "flow", false, false],
    ["do_flow", "flow", true, true],
    ["do_admin", "admin", false, false],
    ["do_admin", "admin", true, true],
  ] as const)(
    "REQ-I4: the matrix: %s (%s), asked and agreed: %s, allowed: %s",
    (name, group, granted, allowed) => {
      const request = {
        ...REQUEST,
        action: { name, group },
        resource: { type: RESOURCES[group][0] ?? "Workspace", id: "w" } as PolicyResource,
        context: { ...REQUEST.context, granted },
      };
      expect(decideByDefault(request, false).allowed).toBe(allowed);
    },
  );
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
        'permit(principal == Principal::"ci", action in Action::"admin", resource);\npermit(principal, action, resource is File);',
      ),
    ]);
    const admin = {
      ...REQUEST,
      action: { name: "do_admin", group: "admin" as const },
      resource: { type: "Server" as const, id: "s" },
    };
    expect(decide(admin).allowed).toBe(false);
    expect(decide({ ...admin, principal: { ...REQUEST.principal, id: "ci" } })).toEqual({
      allowed: true,
      policies: ["my.cedar#1"],
    });
    const file = { type: "File" as const, id: "x", inRoot: true, denied: true, isProtected: false };
    expect(decide({ ...REQUEST, action: { name: "do_read", group: "read" }, resource: file })).toEqual({
      allowed: false,
      policies: ["llmc.denied"],
    });
  });

  it("REQ-D22: of a workspace that is not trusted, only what it forbids is in force", () => {
    const text =
      'permit(principal, action in Action::"admin", resource);\nforbid(principal, action, resource == Command::"npm");';
    const { decide, policies } = compiled([fileOf(text, false)]);
    const admin = {
      ...REQUEST,
      action: { name: "do_admin", group: "admin" as const },
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
    const plain = "forbid(principal, action, resource is Flow);";
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
    ["an id without a text", "@id\nforbid(principal, action, resource is Flow);", 1, "an id is a text"],
    [
      "an id with a line break",
      '@id("a\\nb")\nforbid(principal, action, resource is Flow);',
      1,
      "an id is a text",
    ],
    ["a template", "forbid(principal == ?principal, action, resource);", 0, "templates"],
    ["a reserved id", '@id("llmc.denied")\nforbid(principal, action, resource is Flow);', 1, "reserved"],
    [
      "an id that stands twice",
      '@id("a")\nforbid(principal, action, resource is Flow);\n@id("a")\nforbid(principal, action, resource is Host);',
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
    expect(decide(REQUEST)).toEqual({ allowed: false, policies: ["overflow"] });
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
      ...ACTION_GROUPS.flatMap((group) => [
        `action == Action::"do_${group}"`,
        `action in Action::"${group}"`,
      ]),
    ),
    resource: fc.constantFrom("resource", "resource is Command", 'resource == Host::"a"', "resource is File"),
    condition: fc.constantFrom(
      "",
      "when { context.granted }",
      'when { principal.scopes.contains("write") }',
      "unless { resource is Command && resource.allowlisted }",
      "when { resource is File && (resource.in_root || resource.protected) }",
      'when { context.mode == "hybrid" && principal.transport != "cli" }',
      'unless { resource is Command && ["git:write"].containsAll(resource.missing_powers) }',
    ),
  })
  .map(
    ({ effect, principal, action, resource, condition }) =>
      `${effect}(${principal}, ${action}, ${resource}) ${condition};`,
  );

describe("random policies", () => {
  it("REQ-I4: 10,000 requests over random policies are decided as Cedar itself decides them", () => {
    fc.assert(
      fc.property(
        fc.array(policyTexts, { minLength: 1, maxLength: 6 }),
        fc.array(requests, { minLength: 20, maxLength: 20 }),
        (texts, asked) => {
          const { decide } = compiled([fileOf(texts.join("\n"))]);
          for (const request of asked) {
            if (!RESOURCES[request.action.group].includes(request.resource.type)) continue;
            const { principal, action, resource, context } = request;
            const answer = cedar.isAuthorized({
              principal: { type: "Principal", id: principal.id },
              action: { type: "Action", id: action.name },
              resource: { type: resource.type, id: resource.id },
              context: {
                mode: context.mode,
                profile: context.profile,
                air_gapped: context.airGapped,
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
                    resource.type === "File"
                      ? { in_root: resource.inRoot, denied: resource.denied, protected: resource.isProtected }
                      : resource.type === "Command"
                        ? { allowlisted: resource.allowlisted, missing_powers: [...resource.missingPowers] }
                        : resource.type === "Host"
                          ? { listed: resource.listed }
                          : {},
                  parents: [],
                },
                {
                  uid: { type: "Action", id: action.name },
                  attrs: {},
                  parents: [{ type: "Action", id: action.group }],
                },
              ],
            });
            if (answer.type === "failure") throw new Error(JSON.stringify(answer));
            expect(decide(request).allowed).toBe(answer.response.decision === "allow");
          }
        },
      ),
      { numRuns: rounds(25, 500) },
    );
  });
});
