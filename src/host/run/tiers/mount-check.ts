import { readFileSync } from "node:fs";

/** A mount that the sandbox must have, and what must lie there. */
export interface ExpectedMount {
  readonly path: string;
  /** Real path of what is shown there; undefined for a file or folder of our own making. */
  readonly source: string | undefined;
}

interface MountLine {
  /** Device number, as `major:minor`. */
  readonly device: string;
  /** Path inside its own file system. */
  readonly root: string;
  readonly point: string;
}

const decodeOctal = (field: string): string =>
  field.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));

const readMounts = (pid: number | "self"): readonly MountLine[] =>
  readFileSync(`/proc/${pid}/mountinfo`, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => {
      const [, , device = "", root = "", point = ""] = line.split(" ");
      return { device, root: decodeOctal(root), point: decodeOctal(point) };
    });

const isBelow = (path: string, folder: string): boolean =>
  folder === "/" || path === folder || path.startsWith(`${folder}/`);

/** Which file system a path is on, and where in it, judged lexically, so that planted links do not matter. */
const identify = (path: string, mounts: readonly MountLine[]): string => {
  const holding = mounts
    .filter(({ point }) => isBelow(path, point))
    .reduce<MountLine | undefined>(
      (best, next) => (best === undefined || next.point.length >= best.point.length ? next : best),
      undefined,
    );
  if (holding === undefined) return "";
  const rest = holding.point === "/" ? path : path.slice(holding.point.length);
  const root = holding.root === "/" ? "" : holding.root;
  return `${holding.device} ${`${root}${rest}` || "/"}`;
};

/**
 * bubblewrap finds the source of a mount by its name, and another command may swap a folder for a link at that very
 * moment. So the program is held back until the kernel's own list of its mounts was compared with what was wanted.
 */
export const createMountCheck = (expected: readonly ExpectedMount[]) => {
  const own = readMounts("self");
  const wanted = expected.map(({ path, source }) => ({
    path,
    identity: source === undefined ? undefined : identify(source, own),
  }));
  return (pid: number): boolean => {
    // What is mounted last at a place is what is seen there.
    const seen = new Map(readMounts(pid).map(({ device, root, point }) => [point, `${device} ${root}`]));
    return wanted.every(({ path, identity }) => {
      const found = seen.get(path);
      return found !== undefined && (identity === undefined || found === identity);
    });
  };
};
