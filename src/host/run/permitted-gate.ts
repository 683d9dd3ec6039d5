import { posix } from "node:path";
import { LlmcError, withHint } from "../../base/error.ts";
import { insideRoots } from "../../policy/paths.ts";
import type { PermitProgram, ProgramNeeds } from "../../policy/permit.ts";
import type { Locks } from "../state/locks/locks.ts";
import { type CommandGate, createCommandGate, type GateOptions, refuseChanged } from "./commands.ts";
import type { CommandCall, TrustedExecutable } from "./contract.ts";
import type { UserProgram } from "./user-programs/find-program.ts";
import {
  type CommandGrant,
  type GrantPlan,
  joinGrants,
  NO_GRANT,
  planGrant,
} from "./user-programs/plan-grant.ts";
import type { WriteLock } from "./write-locks/write-locks.ts";

interface PermittedGateOptions extends GateOptions {
  readonly locks: Pick<Locks, "hold">;
  /** Finds a program as the user's shell does; throws if there is none. */
  readonly findProgram: (name: string) => Promise<UserProgram>;
}

const withGrant = (options: PermittedGateOptions, grant: CommandGrant): GateOptions => ({
  ...options,
  settings: () => {
    const settings = options.settings();
    return {
      ...settings,
      allowlist: [...settings.allowlist, ...grant.allowlist],
      powers: [...settings.powers, ...grant.powers],
      readPaths: [...settings.readPaths, ...grant.readPaths],
    };
  },
});

const isNew = (plan: GrantPlan, grant: CommandGrant): boolean =>
  plan.allowlist.some((entry) => !grant.allowlist.includes(entry)) ||
  plan.powers.some((power) => !grant.powers.includes(power));

/** The call of a program that takes grants: what policy is asked about it says so, and not that it is on the list. */
const asGranted = (call: CommandCall, granted: readonly ProgramNeeds[]): CommandCall => {
  const { session } = call;
  const permit = session?.permit;
  if (session === undefined || permit === undefined || granted.length === 0) return call;
  return {
    ...call,
    session: {
      ...session,
      permit: (request) => {
        for (const needs of granted) permit({ ...request, needs });
      },
    },
  };
};

/** A path and the folders above it: whoever moves one of them puts another file in its place. */
const withFoldersAbove = (path: string): readonly string[] =>
  path === "/" ? [] : [path, ...withFoldersAbove(posix.dirname(path))];

/** What is locked to keep programs as they are. Nobody who asks us moves what is outside, and others hold it as well. */
const locksOf = (programs: CommandGrant["programs"], roots: readonly string[]): ReadonlySet<string> =>
  new Set(
    programs
      .flatMap(({ path, realPath }) => [path, realPath])
      .flatMap(withFoldersAbove)
      .filter((key) => insideRoots(key, roots)),
  );

/** It could exchange the program after its content was compared: it takes no locks. */
const refuseBeside = (): LlmcError =>
  new LlmcError(
    "forbidden",
    "A long-running process that may write there could exchange the program that was agreed to.",
    { hint: "End that process first, or let the operator allow the program: llmc allow PATH." },
  );

/** What a script may do that the operator made a tool of, beyond the configuration. */
const grantFor = (executable: TrustedExecutable, roots: readonly string[]): CommandGrant => ({
  ...NO_GRANT,
  allowlist: [executable.path],
  readPaths: insideRoots(executable.folder, roots) ? [] : [executable.folder],
});

/** While it runs, others could change it, and it would go on with the new text. */
const STAYS_UNCHANGED =
  "A program of the workspace that keeps running needs the operator: llmc allow PATH. With run_cmd, the user can be asked";

/** Nobody is asked for what would fail anyway. */
const NO_NETWORK =
  "Commands have no network unless the operator opens it: mcp.tools.allow_outbound_network = true";

/**
 * The gate, with policy in front of it: what the allowlist and the powers refuse can be granted by a policy or by the user
 * who is asked, and what they allow can be forbidden by a policy. A refusal that nobody may lift names no needs, and passes
 * through as it is.
 */
export const createPermittedGate = (options: PermittedGateOptions): CommandGate => {
  const plain = createCommandGate(options);
  /** What the commands of a line hold, which pass the gate one inside the other. */
  const heldIn = new WeakMap<WriteLock, Set<string>>();

  /** Without a sandbox nothing keeps commands from it. */
  const hasNetwork = async (): Promise<boolean> =>
    options.settings().network || (await options.runner.tier()) === "plain";

  const askFor = async (
    refusal: LlmcError,
    { command, outlivesCall }: CommandCall,
    permit: PermitProgram,
  ): Promise<GrantPlan & { readonly refusal: LlmcError }> => {
    const plan = await planGrant(refusal.needs ?? [], options.findProgram).catch(() => {
      // A program that does not exist is refused like one that is not allowed (FAIL-C6).
      throw refusal;
    });
    if (plan.powers.some((power) => power.endsWith(":network")) && !(await hasNetwork()))
      throw refusal.hint?.includes("network") ? refusal : withHint(refusal, NO_NETWORK);
    if (outlivesCall === true && joinGrants(NO_GRANT, plan).programs.length > 0)
      throw withHint(refusal, STAYS_UNCHANGED);
    const program = posix.basename(command[0]);
    const needs = { ...plan, refusal };
    permit({ program, realName: posix.basename(plan.realPath ?? program), needs });
    return needs;
  };

  /** While the work runs, no file tool changes the programs that were granted with the content that they have. */
  const holdingPrograms = async <T>(
    { programs }: CommandGrant,
    lock: WriteLock | undefined,
    signal: AbortSignal | undefined,
    work: () => Promise<T>,
  ): Promise<T> => {
    if (programs.length === 0) return work();
    const isOutOfReach = options.managed.readKnown();
    if (programs.some(({ realPath: path }) => !isOutOfReach({ path, identity: "" }))) throw refuseBeside();
    const held = (lock && heldIn.get(lock)) ?? new Set<string>();
    if (lock !== undefined) heldIn.set(lock, held);
    const all = locksOf(programs, options.reach.current().rules.roots);
    const keys = [...all].filter((key) => !held.has(key));
    const checked = async (): Promise<T> => {
      for (const key of keys) held.add(key);
      const found = await Promise.all(programs.map(({ path }) => options.findProgram(path)));
      const isSame = found.every(
        ({ realPath, content }, at) =>
          realPath === programs[at]?.realPath && content === programs[at]?.content,
      );
      if (!isSame) throw refuseChanged();
      return work();
    };
    try {
      return await options.locks.hold(keys, checked, signal);
    } finally {
      for (const key of keys) held.delete(key);
    }
  };

  const grantOf = ({ executable }: CommandCall): CommandGrant =>
    executable === undefined ? NO_GRANT : grantFor(executable, options.reach.current().rules.roots);

  /** Does the work with the gate that has the grants that it takes. */
  const permitted = async <T>(
    call: CommandCall,
    work: (gate: CommandGate, call: CommandCall, grant: CommandGrant) => Promise<T>,
    granted: readonly ProgramNeeds[] = [],
    grant: CommandGrant = grantOf(call),
  ): Promise<T> => {
    const permit = call.session?.permit;
    const gate = grant === NO_GRANT ? plain : createCommandGate(withGrant(options, grant));
    try {
      return await work(gate, asGranted(call, granted), grant);
    } catch (thrown) {
      if (permit === undefined || !(thrown instanceof LlmcError) || thrown.needs === undefined) throw thrown;
      const plan = await askFor(thrown, call, permit);
      if (!isNew(plan, grant)) throw thrown;
      return permitted(call, work, [...granted, plan], joinGrants(grant, plan));
    }
  };

  return {
    ...plain,
    // One that was granted by its content must not be exchanged, whatever its name says that it does.
    writerOf: (asked, signal) =>
      permitted(asked, async (gate, call, { programs: [granted] }) => {
        const writer = await gate.writerOf(call, signal);
        return writer ?? (granted === undefined ? undefined : posix.basename(granted.path));
      }),
    check: (asked, signal) => permitted(asked, (gate, call) => gate.check(call, signal)),
    pass: (asked, lock, signal, work) =>
      permitted(asked, (gate, call, grant) =>
        holdingPrograms(grant, lock, signal, async () => {
          await call.executable?.check();
          return gate.pass(call, lock, signal, work);
        }),
      ),
  };
};
