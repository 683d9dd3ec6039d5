import type { ModuleKit } from "../../../src/core/custom-modules.ts";
import { addTool, PNG, text } from "../fixture.ts";

/** The header of a sound file with no samples. */
const WAV = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";

const image = { type: "image", ...PNG } as const;

const resource = (uri: string, mimeType: string, content: string) =>
  ({ type: "resource", resource: { uri, mimeType, text: content } }) as const;

/** Every kind of content that a tool can return, and an error. */
export const register = (kit: ModuleKit): void => {
  addTool(kit, {
    name: "test_simple_text",
    description: "Returns text.",
    answer: () => [text("This is a simple text response for testing.")],
  });
  addTool(kit, {
    name: "test_image_content",
    description: "Returns an image.",
    answer: () => [image],
  });
  addTool(kit, {
    name: "test_audio_content",
    description: "Returns sound.",
    answer: () => [{ type: "audio", data: WAV, mimeType: "audio/wav" }],
  });
  addTool(kit, {
    name: "test_embedded_resource",
    description: "Returns a resource.",
    answer: () => [
      resource("test://embedded-resource", "text/plain", "This is an embedded resource content."),
    ],
  });
  addTool(kit, {
    name: "test_multiple_content_types",
    description: "Returns text, an image and a resource.",
    answer: () => [
      text("Multiple content types test:"),
      image,
      resource("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
    ],
  });
  addTool(kit, {
    name: "test_error_handling",
    description: "Always fails.",
    answer: () => {
      throw new Error("This tool intentionally returns an error for testing");
    },
  });
};
