import { writeFile } from "node:fs/promises";
import type { ModuleKit } from "../../../src/core/custom-modules.ts";
import { addTool, text } from "../fixture.ts";

/** What is registered now; a reload of the configuration registers this module anew. */
const extra = { tool: false, prompt: false };
let edits = 0;

/** Edits the workspace's configuration, as an operator would; the door was started there. */
const reload = (): Promise<void> => writeFile("llmc.toml", `[mcp]\nconfig_version = "edit-${++edits}"\n`);

/** Tools that change the lists of tools and prompts while clients listen. */
export const register = (kit: ModuleKit): void => {
  addTool(kit, {
    name: "test_trigger_tool_change",
    description: "Adds a tool, or takes it away again.",
    answer: async () => {
      extra.tool = !extra.tool;
      await reload();
      return [text("The tool list is about to change.")];
    },
  });
  addTool(kit, {
    name: "test_trigger_prompt_change",
    description: "Adds a prompt, or takes it away again.",
    answer: async () => {
      extra.prompt = !extra.prompt;
      await reload();
      return [text("The prompt list is about to change.")];
    },
  });
  if (extra.tool)
    addTool(kit, {
      name: "test_extra_tool",
      description: "Is there only sometimes.",
      answer: () => [text("Here.")],
    });
  if (extra.prompt)
    kit.prompt({
      name: "test_extra_prompt",
      description: "Is there only sometimes.",
      get: async () => [{ role: "user", content: text("Here.") }],
    });
};
