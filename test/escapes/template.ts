import { cpSync } from "node:fs";
import { afterAll } from "vitest";
import { createWorkspace, type Workspace } from "../workspace.ts";

/** Makes a folder once per file and copies it for each test: a copy costs less than the many starts of git. */
export const templateOf = (make: (root: string) => void): (() => Promise<Workspace>) => {
  let template: Promise<Workspace> | undefined;
  afterAll(async () => {
    await (await template)?.remove();
    template = undefined;
  });
  const create = async (): Promise<Workspace> => {
    const workspace = await createWorkspace({});
    make(workspace.root);
    return workspace;
  };
  return async () => {
    template ??= create();
    const { root } = await template;
    const workspace = await createWorkspace({});
    cpSync(root, workspace.root, { recursive: true });
    return workspace;
  };
};
