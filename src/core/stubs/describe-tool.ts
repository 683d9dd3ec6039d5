import { argumentsOf, type StubType, typeOfSchema } from "./schema-type.ts";
import type { StubTool } from "./stub-tool.ts";

/** What a tool without a schema of its output returns to programs. */
const CONTENT: StubType = {
  is: "object",
  fields: [
    {
      name: "content",
      type: { is: "array", item: { is: "record", value: { is: "any" } } },
      isRequired: true,
      description: "",
    },
  ],
};

interface Published extends Pick<StubTool, "name" | "description"> {
  readonly inputSchema: Parameters<typeof argumentsOf>[0];
  readonly outputSchema?: Parameters<typeof typeOfSchema>[0] | undefined;
}

/** A tool as its stubs show it, made of the tool as it is published. */
export const toStubTool = ({ name, description, inputSchema, outputSchema }: Published): StubTool => ({
  name,
  description,
  input: argumentsOf(inputSchema),
  output: outputSchema === undefined ? CONTENT : typeOfSchema(outputSchema),
});
