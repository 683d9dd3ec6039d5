import { resolve } from "node:path";
import { LlmcError } from "../base/error.ts";
import type { ExplainPolicyFlags } from "../cli/actions.ts";
import { refusalOf } from "../core/call.ts";
import { knowledgeSubject, pathSubject, type Subject } from "../core/requests.ts";
import { realPathOf } from "../host/reach/real-path.ts";
import type { PolicyAction } from "../policy/cedar/model.ts";
import { outsidePath } from "../policy/paths.ts";
import type { App } from "./app.ts";

/** What a call comes to besides the tool itself. */
export interface Asked {
  readonly about: string;
  /** Left out where policy is not asked. */
  readonly subject?: Subject;
  /** Below policy, which a permit does not lift. */
  readonly refusal?: LlmcError | undefined;
}

/** Which resource of policy each option names. */
const RESOURCE_OF = { path: "File", collection: "Collection", flow: "Flow", host: "Host" } as const;

/** Answering as if an option had not been given would explain another call than the one that is meant. */
export const checkOptions = ({ name, about }: PolicyAction, flags: ExplainPolicyFlags): void => {
  for (const option of ["path", "collection", "flow", "host"] as const)
    if (flags[option] !== undefined && !about.includes(RESOURCE_OF[option]))
      throw new LlmcError("invalid_args", `${name} is never decided on with a ${RESOURCE_OF[option]}.`, {
        hint:
          option === "path"
            ? "Only tools that read reach beyond the roots; inside, mcp.tools.allowed_roots and denylist_globs decide."
            : `Leave --${option} out, or name another tool.`,
      });
};

/** Asks the ports that the tool has: inside the roots policy is not asked, and what they refuse no permit lifts. */
export const pathAsked = async (app: App, action: PolicyAction, path: string): Promise<Asked> => {
  const about = `${action.name} reads ${path}`;
  const engines = await app.engines();
  const kind = action.name.startsWith("linux_") ? "linux" : "main";
  const { files } = kind === "linux" ? engines.linux() : engines;
  const refusal = await refusalOf(files, path);
  if (refusal === undefined || outsidePath(refusal) === undefined) return { about, refusal };
  const asked = resolve(app.root, path);
  const realPath = await realPathOf(asked);
  // What is not there is decided on by its name.
  const found = { path: asked, realPath: realPath ?? asked };
  const subject = pathSubject(action, found);
  if (realPath === undefined) return { about, subject };
  const outside = engines.outside(kind, { paths: [found], forbids: () => false });
  // As in a call: what could not be read there either is refused before anybody is asked.
  return { about, subject, refusal: (await refusalOf(outside.files, asked)) && refusal };
};

/** Each flow is decided on besides the tool that runs it. */
const FLOWS = "kb_compose_flow";

/** The knowledge bases and flows that a call names. */
export const knowledgeAsked = (
  action: PolicyAction,
  { collection, flow }: ExplainPolicyFlags,
): readonly Asked[] => [
  ...(collection === undefined
    ? []
    : [
        {
          about: `${action.name} reads the knowledge base ${collection}`,
          subject: knowledgeSubject(action, "Collection", collection),
        },
      ]),
  ...(action.name === FLOWS || flow !== undefined
    ? [
        {
          about:
            flow === undefined
              ? `${FLOWS} runs any flow (--flow names one)`
              : `${action.name} runs the flow ${flow}`,
          subject: knowledgeSubject(action, "Flow", flow ?? ""),
        },
      ]
    : []),
];
