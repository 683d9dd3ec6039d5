import { LlmcError } from "../base/error.ts";
import { quoteForMessage } from "../base/text.ts";
import type {
  Caller,
  PromptMessage,
  Resource,
  ResourceContent,
  ResourceTemplate,
} from "../tools/contract.ts";
import type { Catalogue } from "./catalogue.ts";
import type { Guard } from "./guard.ts";
import type { Origin } from "./origin.ts";

/**
 * Matches an RFC 6570 template and gives the variables, or undefined. The MCP library has the implementation, and is loaded
 * for it when a resource is read.
 */
export type MatchTemplate = (
  template: string,
  uri: string,
) => Promise<Readonly<Record<string, string>> | undefined>;

interface DocumentParts {
  readonly catalogue: () => Catalogue;
  readonly resources: (caller: Caller) => Promise<readonly Resource[]>;
  readonly timeoutMs: () => number;
  readonly guard: Guard;
  readonly matchTemplate: MatchTemplate;
}

const lengthOf = (content: ResourceContent): string => ("text" in content ? content.text : content.blob);

/** Resources, prompts and suggestions for their arguments, under the same guard as tools: queue, deadline, record. */
export const createDocuments = ({ catalogue, resources, timeoutMs, guard, matchTemplate }: DocumentParts) => {
  const guarded = <T>(
    kind: string,
    name: string,
    origin: Origin,
    text: (value: T) => string,
    work: Parameters<typeof guard.run<T>>[2],
  ): Promise<T> => guard.serve({ kind, input: () => name, origin, timeoutMs: timeoutMs() }, text, work);

  const findTemplate = async (
    uri: string,
  ): Promise<{ template: ResourceTemplate; variables: Readonly<Record<string, string>> } | undefined> => {
    for (const template of catalogue().templates) {
      const variables = await matchTemplate(template.uriTemplate, uri);
      if (variables !== undefined) return { template, variables };
    }
    return undefined;
  };

  const readResource = (uri: string, origin: Origin): Promise<ResourceContent> =>
    guarded("resources/read", uri, origin, lengthOf, async (context) => {
      const resource = (await resources(context.caller)).find((candidate) => candidate.uri === uri);
      if (resource !== undefined) return resource.read(context);
      const match = await findTemplate(uri);
      if (match !== undefined) return match.template.read(uri, match.variables, context);
      throw new LlmcError("resource_not_found", `There is no resource ${quoteForMessage(uri)}.`, {
        hint: "List the resources to see what is there.",
      });
    });

  const getPrompt = (
    name: string,
    args: Readonly<Record<string, string>>,
    origin: Origin,
  ): Promise<readonly PromptMessage[]> =>
    guarded("prompts/get", name, origin, JSON.stringify, async (context) => {
      const prompt = catalogue().prompts.find((candidate) => candidate.name === name);
      if (prompt === undefined)
        throw new LlmcError("resource_not_found", `There is no prompt ${quoteForMessage(name)}.`);
      const missing = (prompt.arguments ?? []).filter(
        ({ name: argument, required }) => required === true && args[argument] === undefined,
      );
      if (missing.length > 0) {
        throw new LlmcError(
          "invalid_args",
          `Missing arguments: ${missing.map((argument) => argument.name).join(", ")}.`,
        );
      }
      return prompt.get(args, context);
    });

  /** Suggestions for an argument of a prompt or a variable of a template, where the module that offers it has some. */
  const suggest = (
    of: { readonly prompt: string } | { readonly template: string },
    argument: string,
    value: string,
    origin: Origin,
  ): Promise<readonly string[]> =>
    guarded("completion/complete", value, origin, JSON.stringify, async (context) => {
      const { prompts, templates } = catalogue();
      if ("prompt" in of) {
        const prompt = prompts.find(({ name }) => name === of.prompt);
        const described = prompt?.arguments?.find(({ name }) => name === argument);
        return (await described?.complete?.(value)) ?? [];
      }
      const template = templates.find(({ uriTemplate }) => uriTemplate === of.template);
      return (await template?.complete?.(argument, value, context)) ?? [];
    });

  return { readResource, getPrompt, suggest };
};

export type Documents = ReturnType<typeof createDocuments>;
