import { mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const PACKAGES = fileURLToPath(new URL("../../node_modules", import.meta.url));
const MAX_FILE_BYTES = 1.5 * 1024 * 1024;

interface Limits {
  readonly maxLines?: number;
  readonly maxBytes?: number;
}

/** Copies source files of the installed packages, which every checkout has, up to a limit; resolves to their lines. */
export const copyPackages = async (
  folder: string,
  { maxLines = Number.POSITIVE_INFINITY, maxBytes = Number.POSITIVE_INFINITY }: Limits,
): Promise<number> => {
  let lines = 0;
  let bytes = 0;
  for (const name of (await readdir(PACKAGES, { recursive: true })).toSorted()) {
    if (!/\.([cm]?[jt]s|json|md|c|h|cc)$/.test(name)) continue;
    const from = join(PACKAGES, name);
    const found = await stat(from).catch(() => undefined);
    if (found?.isFile() !== true || found.size > MAX_FILE_BYTES) continue;
    const text = await readFile(from, "utf8").catch(() => "");
    const to = join(folder, name.replaceAll("node_modules", "packages"));
    await mkdir(dirname(to), { recursive: true });
    await writeFile(to, text);
    lines += text.split("\n").length;
    bytes += found.size;
    if (lines >= maxLines || bytes >= maxBytes) break;
  }
  return lines;
};
