import type { ModuleKit } from "../../../src/core/custom-modules.ts";
import { PNG } from "../fixture.ts";

const addText = (kit: ModuleKit, uri: string, name: string, text: string): void =>
  kit.resource({
    uri,
    name,
    description: `${name}, for the conformance suite.`,
    mimeType: "text/plain",
    read: async () => ({ uri, mimeType: "text/plain", text }),
  });

export const register = (kit: ModuleKit): void => {
  addText(kit, "test://static-text", "Static text", "This is the content of the static text resource.");
  addText(kit, "test://watched-resource", "Watched resource", "Watched resource content.");
  kit.resource({
    uri: "test://static-binary",
    name: "Static binary",
    description: "One red pixel, for the conformance suite.",
    mimeType: PNG.mimeType,
    read: async () => ({ uri: "test://static-binary", mimeType: PNG.mimeType, blob: PNG.data }),
  });
  kit.resourceTemplate({
    uriTemplate: "test://template/{id}/data",
    name: "Template",
    description: "Data of one id, for the conformance suite.",
    mimeType: "application/json",
    read: async (uri, { id = "" }) => ({
      uri,
      mimeType: "application/json",
      text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }),
    }),
  });
};
