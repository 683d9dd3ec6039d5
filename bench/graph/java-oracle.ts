import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { OracleAnswer, OracleLocation, OracleUse, Project } from "./oracle.ts";

/** Of a JDK: a runtime alone cannot compile. */
const JAVA = "java";
const MAX_OUTPUT_BYTES = 512 * 1024 * 1024;

/** Every name of the project, and what the Java compiler says it means; undefined where there is no JDK. */
export const javaOracle = (project: Project): OracleAnswer | undefined => {
  const folder = mkdtempSync(join(tmpdir(), "llmc-javac-"));
  try {
    const list = join(folder, "files");
    writeFileSync(list, project.paths.join("\n"));
    const source = fileURLToPath(new URL("./JavaOracle.java", import.meta.url));
    const printed = execFileSync(JAVA, [source, project.folder, list], {
      maxBuffer: MAX_OUTPUT_BYTES,
    }).toString("utf8");
    return parse(printed);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
};

const positionOf = (path = "", line = "", name = ""): OracleLocation | undefined =>
  path === "" ? undefined : { path, line: Number(line), name };

const parse = (printed: string): OracleAnswer => {
  const definitions: OracleLocation[] = [];
  const uses: OracleUse[] = [];
  for (const row of printed.split("\n")) {
    const cells = row.split("\t");
    if (cells[0] === "D") {
      const found = positionOf(cells[1], cells[2], cells[3]);
      if (found !== undefined) definitions.push(found);
    } else if (cells[0] === "U") {
      const target = positionOf(cells[3], cells[4], cells[5]);
      if (target === undefined) continue;
      uses.push({
        path: cells[1] ?? "",
        line: Number(cells[2]),
        target,
        caller: positionOf(cells[6], cells[7], cells[8]),
      });
    }
  }
  return { definitions, uses };
};
