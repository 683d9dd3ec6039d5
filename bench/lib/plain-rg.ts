import { spawn } from "node:child_process";
import { rgPath } from "@vscode/ripgrep";

/** What a program without a server would do: one process, its output taken line by line. Resolves to milliseconds. */
const plainRg = (root: string, args: readonly string[], takeLine: (line: string) => void): Promise<number> =>
  new Promise((resolve, reject) => {
    const startedAt = performance.now();
    const child = spawn(rgPath, args, { cwd: root, stdio: ["ignore", "pipe", "ignore"] });
    let rest = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      const lines = (rest + text).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) takeLine(line);
    });
    child.once("error", reject);
    child.once("close", () => resolve(performance.now() - startedAt));
  });

export const findByPlainRg = async (root: string, name: string): Promise<number> => {
  const found: string[] = [];
  const ms = await plainRg(root, ["--files", "./"], (path) => {
    if (path.toLowerCase().includes(name)) found.push(path);
  });
  if (found.length !== 1) throw new Error(`rg --files found ${found.length} files ${name}`);
  return ms;
};

/** The first page of the hits with their context, and the number of all. */
export const searchByPlainRg = async (
  root: string,
  pattern: string,
  { contextLines, page }: { readonly contextLines: number; readonly page: number },
): Promise<number> => {
  const shown: string[] = [];
  let hits = 0;
  const args = ["--heading", "--line-number", "--ignore-case", `--context=${contextLines}`];
  const ms = await plainRg(root, [...args, "--color=never", "-e", pattern, "./"], (line) => {
    if (/^\d+:/.test(line)) hits++;
    if (hits <= page) shown.push(line);
  });
  if (hits < page) throw new Error(`rg found only ${hits} hits of ${pattern}`);
  return ms;
};
