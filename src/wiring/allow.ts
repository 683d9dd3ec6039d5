import { basename, dirname, join } from "node:path";
import { LlmcError } from "../base/error.ts";
import { isInside } from "../base/paths.ts";
import type { AllowedProgram, AllowPlan } from "../cli/allow-command.ts";
import { type Addition, addToLists } from "../config/add-to-list.ts";
import { type Loaded, USER_FILE_NAME } from "../config/load.ts";
import { auditSettings } from "../host/audit/settings.ts";
import type { Disk } from "../host/own-files/disk.ts";
import { findUserProgram, type UserProgram } from "../host/run/user-programs/find-program.ts";
import { createOperatorDisk } from "../host/trust/operator-writes.ts";
import { meaningOf, runsAnyCode, usualPowers } from "../policy/commands.ts";
import { POWERS, type Power } from "../policy/powers.ts";
import type { AppRequest } from "./app.ts";
import { requireOutsideGitDirectory } from "./doctor-above.ts";
import { loadFor } from "./load.ts";
import { recordGrants } from "./record-grants.ts";
import { trustAdded, trustWritten } from "./trust.ts";

type Request = Pick<AppRequest, "root" | "folders" | "env" | "overrides" | "configPath">;

const TABLE = ["mcp", "tools"];
const NEW_FILE = '[mcp]\nmode = "hybrid"\n';

/** What the operator wants to allow. */
interface AllowRequest {
  readonly names: readonly string[];
  /** The git directory of the workspace's work tree, too. */
  readonly repository?: boolean;
}

/** A program to allow, and a power that was asked for by name: `git:write`. */
interface Wanted {
  readonly found: UserProgram;
  readonly granted: readonly Power[];
}

const isPower = (text: string): text is Power => POWERS.some((power) => power === text);

/** `PROGRAM` or `PROGRAM:POWER`. */
const splitPower = (asked: string): { readonly name: string; readonly granted: readonly Power[] } => {
  const [name = "", power, ...more] = asked.split(":");
  if (power === undefined) return { name: asked, granted: [] };
  if (isPower(power) && more.length === 0 && name !== "") return { name, granted: [power] };
  throw new LlmcError("invalid_args", `${asked} names no power of a program.`, {
    hint: `Write PROGRAM or PROGRAM:POWER, where POWER is one of ${POWERS.join(", ")}.`,
  });
};

/** Two entries for one program are one program with the powers of both. */
const findWanted = async (
  names: readonly string[],
  find: (name: string) => Promise<UserProgram>,
): Promise<readonly Wanted[]> => {
  const granted = new Map<string, Set<Power>>();
  for (const asked of names.map(splitPower)) {
    const powers = granted.get(asked.name) ?? new Set();
    for (const power of asked.granted) powers.add(power);
    granted.set(asked.name, powers);
  }
  return Promise.all(
    [...granted].map(async ([name, powers]) => ({ found: await find(name), granted: [...powers] })),
  );
};

const notesFor = (
  { path, name, inSystem, inWorkspace }: UserProgram,
  powers: readonly Power[],
  { config }: Loaded,
  workspace: string,
): readonly string[] => [
  ...(runsAnyCode(name) && !powers.includes("run") ? [meaningOf(name, "run")] : []),
  ...powers.map((power) => `${name}:${power} means: ${meaningOf(name, power)}`),
  ...(isInside(path, workspace)
    ? ["it lies in the workspace: whoever may write there decides what it does"]
    : []),
  ...(inSystem === undefined
    ? []
    : [`your shell runs this one; llmc allow ${inSystem} allows that of the system instead`]),
  ...(inWorkspace === undefined
    ? []
    : [`the workspace has one of its own; llmc allow ${inWorkspace} allows that one instead`]),
  ...(usualPowers(name).includes("network") && !config.mcp.tools.allow_outbound_network
    ? ["it needs the network: set mcp.tools.allow_outbound_network = true, which opens it to all commands"]
    : []),
];

const describe = ({ found, granted }: Wanted, loaded: Loaded, workspace: string): AllowedProgram => {
  const powers = [...new Set([...usualPowers(found.name), ...granted])];
  return {
    name: found.name,
    path: found.path,
    location: found.location,
    interpreter: found.interpreter,
    powers: powers.map((power) => `${found.name}:${power}`),
    readPaths: found.readPaths,
    notes: notesFor(found, powers, loaded, workspace),
  };
};

/** A flag or a variable wins over the file, so writing there would change nothing. */
const refuseOverruled = ({ origins }: Loaded, additions: readonly Addition[]): void => {
  for (const { name, items } of additions) {
    const origin = origins.get(`mcp.tools.${name}`);
    if (items.length > 0 && (origin?.source === "env" || origin?.source === "cli"))
      throw new LlmcError(
        "invalid_args",
        `mcp.tools.${name} comes from ${origin.detail}, which wins over the file.`,
        {
          hint: "Nothing was written. Change it there, or remove it.",
        },
      );
  }
};

const additionsFor = (
  found: readonly UserProgram[],
  programs: readonly AllowedProgram[],
  { config: { mcp } }: Loaded,
  gitDirectory: string | undefined,
): readonly Addition[] => {
  const { run_cmd_allowlist: allowlist, command_powers: powers, command_read_paths: readPaths } = mcp.tools;
  const isNeeded = (path: string): boolean => !readPaths.some((folder) => isInside(path, folder));
  return [
    { name: "run_cmd_allowlist", items: found.map(({ entry }) => entry), otherwise: allowlist },
    { name: "command_powers", items: programs.flatMap((one) => one.powers), otherwise: powers },
    {
      name: "command_read_paths",
      items: [...new Set(programs.flatMap((one) => one.readPaths))].filter(isNeeded),
      otherwise: readPaths,
    },
    {
      name: "git_directories",
      items: gitDirectory === undefined ? [] : [gitDirectory],
      otherwise: mcp.tools.git_directories,
    },
  ].map((one) => ({ ...one, table: TABLE }));
};

const inForce = ({ config: { mcp } }: Loaded, { name }: Addition): readonly string[] => {
  const value = mcp.tools[name as keyof typeof mcp.tools];
  return Array.isArray(value) ? value : [];
};

/** What the lists must hold besides what is in force; what only waits for trust has an entry already. */
const changesFor = (
  request: Request,
  loaded: Loaded,
  wanted: readonly Wanted[],
  gitDirectory?: string,
): { readonly programs: readonly AllowedProgram[]; readonly additions: readonly Addition[] } => {
  const programs = wanted.map((one) => describe(one, loaded, request.root));
  const found = wanted.map((one) => one.found);
  const additions = additionsFor(found, programs, loaded, gitDirectory).map((one) => ({
    ...one,
    items: one.items.filter((item) => !inForce(loaded, one).includes(item)),
  }));
  refuseOverruled(loaded, additions);
  return { programs, additions };
};

const userOf = ({ root, folders, env }: Request) => ({ home: folders.home, workspace: root, env });

/** A workspace could make us write to any file of the user by a link, and what is written there counts elsewhere. */
const refuseLink = async (file: string, disk: Disk): Promise<void> => {
  const real = await disk.resolveFile(file);
  if (real === undefined || real.path === join(disk.realOrFuture(dirname(file)), basename(file))) return;
  throw new LlmcError("invalid_args", `${file} is a link to ${real.path}; nothing was written.`, {
    hint: "Edit that file, or name it with --config.",
  });
};

interface AllowTarget {
  readonly file: string;
  /** What a new file begins with. */
  readonly template: string;
  /** Makes what was written count. */
  trust(before: string | undefined, after: string, additions: readonly Addition[]): Promise<void>;
}

/** Finds the programs and works out what the configuration file must say. A program that is not found is an error. */
const planFor = async (
  request: Request,
  { names, repository = false }: AllowRequest,
  loaded: Loaded,
  { file, template, trust }: AllowTarget,
): Promise<AllowPlan> => {
  const gitDirectory = repository
    ? requireOutsideGitDirectory(request.root, loaded.config.mcp.tools.allowed_roots)
    : undefined;
  const user = userOf(request);
  const wanted = await findWanted(names, (name) => findUserProgram(name, user));
  const { programs, additions } = changesFor(request, loaded, wanted, gitDirectory);
  const disk = createOperatorDisk(request.folders.state, request.root);
  await refuseLink(file, disk);
  const before = await disk.readText(file);
  const after = addToLists(before ?? template, additions);
  return {
    programs,
    gitDirectory,
    file,
    before,
    after,
    isChanged: additions.some(({ items }) => items.length > 0),
    apply: async () => {
      if ((await disk.readText(file)) !== before)
        throw new LlmcError("busy", `${file} has changed in the meantime; nothing was written.`, {
          hint: "Run the command again.",
        });
      await recordGrants(
        {
          root: request.root,
          userState: request.folders.state,
          settings: auditSettings(loaded.config.mcp.audit),
        },
        additions.flatMap(({ name, items }) =>
          items.map((item) => ({ granted: `${name} ${item}`, scope: "always" as const })),
        ),
      );
      const real = await disk.resolveFile(file);
      await disk.writeText(real?.path ?? file, after, real?.mode);
      await trust(before, after, additions);
    },
  };
};

export const planAllow = async (request: Request, wanted: AllowRequest): Promise<AllowPlan> => {
  const loaded = await loadFor(request);
  const file = loaded.file ?? join(request.root, "llmc.toml");
  return planFor(request, wanted, loaded, {
    file,
    template: NEW_FILE,
    trust: (before, after, additions) =>
      before === undefined
        ? trustWritten(request, file, after, { isRecorded: true })
        : trustAdded(request, new Map(additions.map(({ name, items }) => [`mcp.tools.${name}`, items]))),
  });
};

/** Of a workspace that has a list of its own. */
const listNotes = ({ origins, file }: Loaded): readonly string[] =>
  origins.get("mcp.tools.run_cmd_allowlist")?.source === "file"
    ? [`${file} has a list of its own, which wins in this workspace: llmc allow without --user adds to that`]
    : [];

/** The same for the user's own defaults, which need no trust and count wherever a workspace does not say otherwise. */
export const planUserAllow = async (request: Request, wanted: AllowRequest): Promise<AllowPlan> => {
  const { config: folder } = request.folders;
  // What a workspace's file says is no part of the user's own lists, so it is not read for them.
  const own = await loadFor({ ...request, root: folder, configPath: undefined });
  const plan = await planFor(request, wanted, own, {
    file: join(folder, USER_FILE_NAME),
    template: "",
    trust: async () => {},
  });
  const inWorkspace = plan.programs.find(({ path }) => isInside(path, request.root));
  if (inWorkspace !== undefined)
    throw new LlmcError(
      "invalid_args",
      `${inWorkspace.path} lies in this workspace; other workspaces have none of it.`,
      {
        hint: "Leave out --user to allow it here.",
      },
    );
  const notes = listNotes(await loadFor(request));
  return { ...plan, programs: plan.programs.map((one) => ({ ...one, notes: [...one.notes, ...notes] })) };
};

/** A new file that allows programs of the machine. */
interface Draft {
  readonly text: string;
  readonly programs: readonly AllowedProgram[];
  /** Programs of the workspace: what they do, and what they need to read, is the repository's choice. */
  readonly inWorkspace: readonly string[];
  readonly missing: readonly string[];
}

export const draftWith = async (
  request: Request,
  names: readonly string[],
  template: string,
): Promise<Draft> => {
  const loaded = await loadFor({ ...request, configPath: undefined });
  const user = userOf(request);
  const tried = await Promise.all(names.map((name) => findUserProgram(name, user).catch(() => undefined)));
  const found = tried.filter((one) => one !== undefined);
  const isForeign = ({ path }: UserProgram): boolean => isInside(path, request.root);
  const { programs, additions } = changesFor(
    request,
    loaded,
    found.filter((one) => !isForeign(one)).map((one) => ({ found: one, granted: [] })),
  );
  return {
    text: addToLists(template, additions),
    programs,
    inWorkspace: found.filter(isForeign).map(({ name }) => name),
    missing: names.filter((_name, at) => tried[at] === undefined),
  };
};
