import { existsSync } from "node:fs";
import { dirname, join } from "node:path";

/** A folder of our code, the package.json that it belongs to, and everything that its imports are looked for in. */
export const codeOf = (folder: string): readonly string[] => {
  const above: string[] = [];
  for (let at = dirname(folder); ; at = dirname(at)) {
    above.push(at);
    if (dirname(at) === at) break;
  }
  const manifest = above.map((at) => join(at, "package.json")).find((path) => existsSync(path));
  const modules = above.map((at) => join(at, "node_modules")).filter((path) => existsSync(path));
  return [folder, ...(manifest === undefined ? [] : [manifest]), ...modules];
};
