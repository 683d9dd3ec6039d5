import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Node can start nothing that has no name, so a program made here lies in a private folder until it runs. */
export const inProgramFile = <T>(
  parent: string,
  build: (file: string) => Buffer,
  use: (file: string) => T,
): T => {
  const folder = mkdtempSync(join(parent, "llmc-confine-"));
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  try {
    const file = join(folder, "launch");
    writeFileSync(file, build(file), { mode: 0o500 });
    const result = use(file);
    if (!(result instanceof Promise)) {
      remove();
      return result;
    }
    return result.finally(remove) as T;
  } catch (thrown) {
    remove();
    throw thrown;
  }
};
