import { basename } from "node:path";
import { toLlmcError } from "../base/error.ts";
import { EXTRAS, installCommand } from "../base/extras-table.ts";
import type { Finding } from "../cli/doctor-command.ts";
import { modeCost } from "../cli/tools-command.ts";
import { showOrigin } from "../config/layer.ts";
import { leftOut } from "../config/left-out.ts";
import type { Loaded } from "../config/load.ts";
import { valueAt } from "../config/sections.ts";
import { isInstalled } from "../host/os/bundled-files.ts";
import { descriptorsHavePaths, versionOf, watchLimit } from "../host/os/probe.ts";
import { isOnMachine } from "../host/os/system-programs.ts";
import { tokenCounter } from "../host/os/token-counter.ts";
import { createCommandRunner } from "../host/run/runner.ts";
import type { Tier } from "../host/run/tiers/contract.ts";
import { createCommandGroups } from "../host/run/tree/cgroup.ts";
import { describeProblem } from "../policy/cedar/positions.ts";
import { type App, type AppRequest, createApp } from "./app.ts";
import { examineAbove } from "./doctor-above.ts";
import { examineFlows } from "./doctor-flows.ts";
import { examineIsolation } from "./doctor-isolation.ts";
import { examineRoots } from "./doctor-roots.ts";
import { examineTrust } from "./doctor-trust.ts";
import { describeLeftOut } from "./left-out-code.ts";
import { loadFor } from "./load.ts";
import { describeUnnamedMode, isModeUnnamed } from "./mode-prices.ts";
import { modelSettingsOf } from "./model-settings.ts";
import { examineState } from "./other-state.ts";
import { examineQuarantine } from "./quarantine.ts";
import { examineInside } from "./runs-inside.ts";
import { trustCommand } from "./trust-command-line.ts";
import { describeUnknownTools, unknownTools } from "./unknown-tools.ts";
import { VERSION } from "./version.ts";

const good = (name: string, detail: string): Finding => ({ name, state: "good", detail });
const weak = (name: string, detail: string, fix?: string): Finding => ({ name, state: "weak", detail, fix });
const bad = (name: string, detail: string, fix?: string): Finding => ({ name, state: "bad", detail, fix });

/** The files that values come from. */
const describeSources = ({ file, origins }: Loaded): string => {
  const own = [...origins.values()].find(({ source }) => source === "user")?.detail.replace(/:\d+$/, "");
  if (file === undefined)
    return own === undefined ? "no file; the defaults are in force" : `${own}, and no file of the workspace`;
  return own === undefined ? file : `${file}, and what it leaves open from ${own}`;
};

const examineConfig = async (
  request: AppRequest,
): Promise<{ finding: Finding; loaded: Loaded | undefined }> => {
  try {
    const loaded = await loadFor(request);
    const detail = describeSources(loaded);
    return { finding: good("configuration", detail), loaded };
  } catch (thrown) {
    return {
      finding: bad("configuration", toLlmcError(thrown).message, "llmc config validate"),
      loaded: undefined,
    };
  }
};

const examineModeOf = async ({ core }: App, loaded: Loaded): Promise<Finding> => {
  if (isModeUnnamed(loaded))
    return weak("mode", await describeUnnamedMode(core), 'mode = "hybrid" or mode = "classic" in [mcp]');
  const unknown = unknownTools(loaded);
  if (unknown.length > 0)
    return weak("mode", describeUnknownTools(unknown), "llmc tools --mode classic lists all names");
  const { mode, tools, tokens } = await modeCost(core, loaded.config.mcp.mode, await tokenCounter());
  return good("mode", `${mode}: ${tools.length} tools, ${tokens} tokens`);
};

/** Files that should have brought tools. What waits for trust is said there. */
const examineCustomTools = ({ core }: App, request: AppRequest): readonly Finding[] =>
  core
    .leftOut()
    .filter(({ isUntrusted }) => !isUntrusted)
    .map((one) => weak("custom tools", describeLeftOut(one, trustCommand(request))));

/** Whether the policies that somebody wrote are in force. */
const examinePolicies = ({ policy }: App): readonly Finding[] => {
  const { policies, problems, warnings } = policy.report();
  if (problems.length > 0)
    return [
      bad(
        "policies",
        `${problems.map(describeProblem).join("; ")}: a server that starts now refuses everything; one that runs keeps the last good ones`,
        "llmc policy check",
      ),
    ];
  const detail = policies.length === 0 ? "the defaults alone" : `${policies.length} besides the defaults`;
  return [
    warnings.length === 0
      ? good("policies", detail)
      : weak("policies", `${detail}; ${warnings.map(describeProblem).join("; ")}`, "llmc policy check"),
  ];
};

/** What a server with this configuration offers to clients, and by which policies. */
const examineServer = async (
  request: AppRequest,
  loaded: Loaded | undefined,
): Promise<{ readonly tools: readonly Finding[]; readonly policies: readonly Finding[] }> => {
  if (loaded === undefined) return { tools: [], policies: [] };
  const silent = { "mcp.logging.level": { flag: "(command)", value: "silent" } };
  const app = await createApp({ ...request, overrides: { ...request.overrides, ...silent } });
  try {
    const tools = [await examineModeOf(app, loaded), ...examineCustomTools(app, request)];
    return { tools, policies: examinePolicies(app) };
  } finally {
    await app.close();
  }
};

const ALLOWLIST_KEY = "mcp.tools.run_cmd_allowlist";

/** What commands may start, and whether a list written somewhere took programs away that people expect. */
const examinePrograms = (loaded: Loaded | undefined): Finding[] => {
  if (loaded === undefined) return [];
  const allowed = loaded.config.mcp.tools.run_cmd_allowlist;
  const present = new Set(allowed.filter(isOnMachine).map((entry) => basename(entry)));
  // What has no program of the system by its name may be allowed by its path as well.
  const absent = allowed.filter((entry) => !present.has(basename(entry)));
  const count = present.size;
  const note = absent.length === 0 ? "" : `; not in the system's folders: ${absent.join(", ")}`;
  const missing = leftOut(loaded, ALLOWLIST_KEY);
  if (missing.length === 0) return [good("programs", `${count} may be run (llmc allow adds others)${note}`)];
  const from = showOrigin(loaded.origins.get(ALLOWLIST_KEY) ?? { source: "default", detail: "" });
  return [
    weak(
      "programs",
      `${count} may be run: the list of ${from} replaces the default, without ${missing.join(", ")}`,
      `llmc allow ${missing.join(" ")}`,
    ),
  ];
};

const examineFiles = async (): Promise<Finding> =>
  (await descriptorsHavePaths())
    ? good("file access", "race-free: paths are checked on the opened descriptor")
    : weak(
        "file access",
        "checked by comparing descriptor and name: this system does not tell a descriptor's path",
      );

const TIER_DETAILS: Readonly<Record<Tier, string>> = {
  bubblewrap: "commands run in bubblewrap: the workspace writable, the system read-only, the rest absent",
  landlock: "commands are confined by Landlock and seccomp",
  plain: "commands run without a sandbox, restricted only by the allowlist and the argument rules",
};

/** Which sandbox works here, determined by running a command in it. */
const examineSandbox = async (loaded: Loaded | undefined): Promise<Finding> => {
  const mode = loaded?.config.mcp.tools.command_sandbox ?? "auto";
  const runner = createCommandRunner({ mode: () => mode });
  try {
    const tier = await runner.tier();
    if (tier === "bubblewrap") return good("sandbox", TIER_DETAILS[tier]);
    const fix =
      mode === "off"
        ? 'command_sandbox = "auto"'
        : (await versionOf("bwrap")) === undefined
          ? "apt-get install bubblewrap (or your system's package), and allow user namespaces"
          : "bubblewrap is installed and does not work here: allow user namespaces and a fresh /proc (containers often forbid them)";
    return weak("sandbox", TIER_DETAILS[tier], fix);
  } catch (thrown) {
    return bad("sandbox", toLlmcError(thrown).message, toLlmcError(thrown).hint);
  } finally {
    await runner[Symbol.asyncDispose]();
  }
};

/** How memory and processes of commands are bounded. */
const examineLimits = (): Finding =>
  createCommandGroups().works
    ? good(
        "limits",
        "memory and processes of writing commands are limited by a control group; read-only commands are watched",
      )
    : weak(
        "limits",
        "memory and processes of a command are watched, since no control group can be made here",
        "run the server in a delegated control group (systemd-run --user --scope -p Delegate=yes)",
      );

const examineHttp = (request: AppRequest, loaded: Loaded | undefined): Finding => {
  if (loaded === undefined) return weak("HTTP door", "unknown until the configuration is fixed");
  const { mode, token_env: variable } = loaded.config.mcp.auth;
  if (mode === "none") return weak("HTTP door", "requires no token (mcp.auth.mode)", 'mode = "token"');
  return (request.env[variable] ?? "") === ""
    ? weak("HTTP door", `${variable} is not set; stdio needs none`, "llmc serve --http --generate-token")
    : good("HTTP door", `token in ${variable}`);
};

/** Opens no connection, so it does not check whether the model answers. */
const examineModel = async (request: AppRequest, loaded: Loaded | undefined): Promise<Finding[]> => {
  const model = loaded?.config.mcp.llm.agent_model ?? "";
  if (loaded === undefined || model === "") return [];
  const { createModels } = await import("../llm/models.ts");
  const models = createModels({
    settings: () => modelSettingsOf(loaded.config.mcp),
    secret: (variable) => request.env[variable],
  });
  try {
    await models.open(model, () => {});
    return [good("model", `${model} may be asked, and has the key that it needs`)];
  } catch (thrown) {
    const { message, hint } = toLlmcError(thrown);
    return [weak("model", message, hint)];
  }
};

/** Packages that npm does not install by itself: a fault only where the configuration asks for one. */
const examineExtras = (loaded: Loaded | undefined): Finding[] => {
  const missing = Object.entries(EXTRAS).filter(([, { packages }]) => !packages.every(isInstalled));
  const isAsked = ({ key, values }: (typeof EXTRAS)[keyof typeof EXTRAS]): boolean =>
    loaded !== undefined && values.test(String(valueAt(loaded.config, key)));
  const asked = missing.filter(([, extra]) => isAsked(extra));
  if (asked.length > 0)
    return asked.map(([name, extra]) =>
      bad(
        "extras",
        `${extra.key} needs the extra "${name}", which is not installed`,
        `${installCommand(extra)} (without -g if llmc is part of a project)`,
      ),
    );
  const list = missing.map(([name, extra]) => `${name} (${installCommand(extra)})`).join(", ");
  return [
    good("extras", missing.length === 0 ? "all are installed" : `not installed and not asked for: ${list}`),
  ];
};

/** Examines everything that this program relies on. */
export const examine = async (request: AppRequest): Promise<readonly Finding[]> => {
  const { finding, loaded } = await examineConfig(request);
  const [git, watches] = await Promise.all([versionOf("git"), watchLimit()]);
  const { tools, policies } = await examineServer(request, loaded);
  return [
    good("llmc", `${VERSION} on Node ${process.versions.node}, ${process.platform} ${process.arch}`),
    finding,
    ...tools,
    ...(await examineTrust(request, loaded)),
    ...policies,
    ...(await examineFlows(request, loaded)),
    await examineState(request),
    ...(await examineRoots(request, loaded)),
    ...examineAbove(request.root, loaded),
    ...(await examineQuarantine(request.root, loaded)),
    ...examineInside(request),
    ...examinePrograms(loaded),
    await examineFiles(),
    examineHttp(request, loaded),
    await examineSandbox(loaded),
    ...(await examineIsolation(loaded, request.env)),
    ...(process.platform === "linux" ? [examineLimits()] : []),
    ...(await examineModel(request, loaded)),
    ...examineExtras(loaded),
    git === undefined
      ? weak("git", "not installed", "apt-get install git (or your system's package)")
      : good("git", git),
    ...(watches !== undefined && watches < 8192
      ? [weak("file watches", `only ${watches} allowed`, "sysctl fs.inotify.max_user_watches=524288")]
      : []),
  ];
};
