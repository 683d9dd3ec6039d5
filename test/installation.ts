import { cp, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const repository = fileURLToPath(new URL("..", import.meta.url));

/** A copy of the program whose files a test may change, as an upgrade does while a server runs. */
export interface Installation {
  readonly launcher: string;
  /** The text of one of its sources. */
  read(path: string): Promise<string>;
  /** Changes one of its sources; the text to replace must be there. */
  edit(path: string, from: string | RegExp, to: string): Promise<void>;
  write(path: string, text: string): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export const createInstallation = async (): Promise<Installation> => {
  const root = await mkdtemp(join(tmpdir(), "llmc-installation-"));
  await cp(join(repository, "src"), join(root, "src"), {
    recursive: true,
    filter: (path) => !path.endsWith(".test.ts"),
  });
  for (const name of ["bin", "package.json"])
    await cp(join(repository, name), join(root, name), { recursive: true });
  await symlink(join(repository, "assets"), join(root, "assets"));
  await symlink(join(repository, "node_modules"), join(root, "node_modules"));
  const read = (path: string): Promise<string> => readFile(join(root, path), "utf8");
  const write = (path: string, text: string): Promise<void> => writeFile(join(root, path), text);
  return {
    launcher: join(root, "bin/llmc"),
    read,
    write,
    edit: async (path, from, to) => {
      const before = await read(path);
      const after = before.replace(from, to);
      if (after === before) throw new Error(`${path} has nothing to replace`);
      await write(path, after);
    },
    [Symbol.asyncDispose]: () => rm(root, { recursive: true, force: true }),
  };
};
