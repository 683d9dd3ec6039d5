import type { ModuleKit } from "../../../src/core/custom-modules.ts";
import type { ContentBlock, PromptMessage } from "../../../src/tools/contract.ts";
import { PNG, text } from "../fixture.ts";

const byUser = (content: ContentBlock): PromptMessage => ({ role: "user", content });

const CANDIDATES = ["paris", "park", "party", "testament", "testimony"];

/** Prompts with every kind of content; one of them waits for the user's answer. */
export const register = (kit: ModuleKit): void => {
  kit.prompt({
    name: "test_simple_prompt",
    description: "A prompt without arguments.",
    get: async () => [byUser(text("This is a simple prompt for testing."))],
  });
  kit.prompt({
    name: "test_prompt_with_arguments",
    description: "A prompt with two arguments.",
    arguments: [
      {
        name: "arg1",
        description: "First test argument",
        required: true,
        complete: (value) => CANDIDATES.filter((word) => word.startsWith(value)),
      },
      { name: "arg2", description: "Second test argument", required: true },
    ],
    get: async ({ arg1, arg2 }) => [byUser(text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`))],
  });
  kit.prompt({
    name: "test_prompt_with_embedded_resource",
    description: "A prompt that holds a resource.",
    arguments: [{ name: "resourceUri", description: "URI of the resource to embed", required: true }],
    get: async ({ resourceUri = "" }) => [
      byUser({
        type: "resource",
        resource: {
          uri: resourceUri,
          mimeType: "text/plain",
          text: "Embedded resource content for testing.",
        },
      }),
      byUser(text("Please process the embedded resource above.")),
    ],
  });
  kit.prompt({
    name: "test_prompt_with_image",
    description: "A prompt that holds an image.",
    get: async () => [byUser({ type: "image", ...PNG }), byUser(text("Please analyze the image above."))],
  });
  kit.prompt({
    name: "test_input_required_result_prompt",
    description: "A prompt that asks the user for its context.",
    get: async (_args, call) => {
      const answer =
        call.answers?.["user_context"] ??
        call.ask({
          user_context: {
            kind: "form",
            message: "What context should the prompt use?",
            schema: { type: "object", properties: { context: { type: "string" } }, required: ["context"] },
          },
        });
      return [byUser(text(`Context: ${JSON.stringify(answer)}`))];
    },
  });
};
