import { resolve } from "node:path";
import { LlmcError, toLlmcError } from "../base/error.ts";
import { parseGuarded } from "../base/json-guard.ts";
import type { Loaded } from "../config/load.ts";
import { parseToml } from "../config/parse-toml.ts";
import { canonicalName } from "../core/modes.ts";
import { sha256 } from "../host/os/lazy-builtins.ts";
import { readFlowFiles } from "../host/own-files/flow-files.ts";
import { type BrokenFlow, type DeclaredFlow, isBroken } from "../knowledge/flows/flow.ts";
import { type FlowFile, loadFlows } from "../knowledge/flows/load-flows.ts";
import { brokenFlow, type CheckArguments } from "../knowledge/flows/read-flow.ts";
import { allTools } from "../tools/all.ts";
import { coreSettingsOf } from "./settings.ts";

export interface FlowWiring {
  readonly root: string;
  readonly config: () => Loaded["config"];
  /** If the folder is the workspace's content: the SHA-256 of each file that was granted. */
  readonly digests: () => Readonly<Record<string, string>> | undefined;
  /** Told once of each file that cannot be used, whenever the files change. */
  readonly onBroken: (flow: BrokenFlow) => void;
}

/** JSON.parse says the line in its message, which also quotes the file, and so is not shown. */
const jsonLine = (text: string): number | undefined => {
  try {
    JSON.parse(text);
    return undefined;
  } catch (thrown) {
    const line = /\(line (\d+) /.exec(thrown instanceof Error ? thrown.message : "")?.[1];
    return line === undefined ? undefined : Number(line);
  }
};

const parseFlow = (name: string, text: string): unknown => {
  const isJson = name.endsWith(".json");
  try {
    return isJson ? parseGuarded(text) : parseToml(text);
  } catch (cause) {
    const line = isJson ? jsonLine(text) : Reflect.get(Object(cause), "line");
    const position = typeof line === "number" ? `${name}:${line}` : name;
    throw brokenFlow(position, `it is not valid ${isJson ? "JSON" : "TOML"}`, cause);
  }
};

/** By the tools' own input schemas. A tool that the operator switched off is none. */
const checkArguments =
  (isOff: (tool: string) => boolean): CheckArguments =>
  async (tool, args) => {
    const name = canonicalName(tool);
    const entry = isOff(name) ? undefined : allTools.find((one) => one.name === name);
    if (entry === undefined) return undefined;
    const { input } = await entry.load();
    const { issues = [] } = await input["~standard"].validate(args);
    return issues.map((issue) => ({
      message: issue.message,
      path: (issue.path ?? []).map((part) => (typeof part === "object" ? part.key : part)),
      isUnknownKey: Reflect.get(issue, "code") === "unrecognized_keys",
    }));
  };

/** A file of the workspace that was not granted is not looked into: what it declares is neither run nor listed. */
const holdBack = ({ name, text }: FlowFile, granted: Readonly<Record<string, string>>): FlowFile => {
  if (text instanceof LlmcError || granted[name] === sha256(text)) return { name, text };
  const how = granted[name] === undefined ? "was not there" : "had different content";
  return {
    name,
    text: new LlmcError("forbidden", `The flow ${name} ${how} when this workspace was trusted.`, {
      hint: "The user looks at it, then runs llmc trust.",
    }),
  };
};

/** A folder that cannot be read declares no flow; knowledge bases work without flows. */
const readFiles = (folder: string, granted: ReturnType<FlowWiring["digests"]>): readonly FlowFile[] => {
  try {
    const files = readFlowFiles(folder);
    return granted === undefined ? files : files.map((file) => holdBack(file, granted));
  } catch (thrown) {
    return [{ name: "mcp.kb.flows", text: toLlmcError(thrown) }];
  }
};

/** The declared flows, read again when the files, the folder or the tools changed. */
export const createFlows = ({
  root,
  config,
  digests,
  onBroken,
}: FlowWiring): (() => Promise<readonly DeclaredFlow[]>) => {
  let known: { readonly from: string; readonly flows: Promise<readonly DeclaredFlow[]> } | undefined;
  const load = async (files: readonly FlowFile[], off: readonly string[]) => {
    const flows = await loadFlows(files, {
      parse: parseFlow,
      check: checkArguments((tool) => off.includes(tool)),
    });
    flows.filter(isBroken).forEach(onBroken);
    return flows;
  };
  return () => {
    const { kb } = config().mcp;
    if (kb.flows === "") return Promise.resolve([]);
    const files = readFiles(resolve(root, kb.flows), digests());
    const off = Object.keys(coreSettingsOf(config(), root).withheldTools);
    const from = JSON.stringify([files.map(({ name, text }) => [name, String(text)]), off]);
    if (known?.from !== from) known = { from, flows: load(files, off) };
    return known.flows;
  };
};
