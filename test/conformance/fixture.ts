import type { ModuleKit } from "../../src/core/custom-modules.ts";
import type { CallContext, ContentBlock } from "../../src/tools/contract.ts";

/** One red pixel. */
export const PNG = {
  data: "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==",
  mimeType: "image/png",
} as const;

export const text = (content: string): ContentBlock => ({ type: "text", text: content });

interface Fixture {
  readonly name: string;
  readonly description: string;
  answer(call: CallContext): readonly ContentBlock[] | Promise<readonly ContentBlock[]>;
}

/** A tool without arguments whose whole answer is content. */
export const addTool = (kit: ModuleKit, { name, description, answer }: Fixture): void =>
  kit.tool({
    name,
    description,
    effect: "read",
    input: kit.z.strictObject({}),
    run: async (_args, _ports, call) => answer(call),
    render: (blocks) => blocks as readonly ContentBlock[],
  });
