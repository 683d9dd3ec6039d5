import { closeSync, openSync, readFileSync, readSync } from "node:fs";

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

const parseMounts = (text: string): readonly MountLine[] =>
  text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => {
      const [, , device = "", root = "", point = ""] = line.split(" ");
      return { device, root: decodeOctal(root), point: decodeOctal(point) };
    });

/** One buffer for all checks: a list is read some ten times while a sandbox is set up. It grows with the longest list. */
let buffer = Buffer.alloc(64 * 1024);

/** The whole list from its beginning; a descriptor of /proc has no size. */
const readFromStart = (descriptor: number): string => {
  for (let length = 0; ; ) {
    const count = readSync(descriptor, buffer, length, buffer.length - length, length);
    if (count === 0) return buffer.toString("utf8", 0, length);
    length += count;
    if (length === buffer.length) buffer = Buffer.concat([buffer], 2 * length);
  }
};

const isBelow = (path: string, folder: string): boolean =>
  folder === "/" || path === folder || path.startsWith(`${folder}/`);

/** Which file system a path is on, and where in it, judged lexically, so that planted links do not matter. */
const locationOf = (path: string, mounts: readonly MountLine[]): string => {
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
 * The mounts of a sandbox, by the kernel's own list. bubblewrap finds the source of a mount by its name, and another
 * command may swap a folder for a link at that very moment, so the program is held back until the list was compared with
 * what was wanted. Later, a mount vanishes when somebody outside renames or removes what it lies on: from then on nothing
 * keeps the program from that name. The open list keeps the namespace, so that it can be asked when all processes are gone.
 */
export const createMountCheck = (
  expected: readonly ExpectedMount[],
  /** Guarded paths that were gone when they should have been mounted. */
  unmounted: readonly string[] = [],
) => {
  const own = parseMounts(readFileSync("/proc/self/mountinfo", "utf8"));
  const wanted = expected.map(({ path, source }) => ({
    path,
    identity: source === undefined ? undefined : locationOf(source, own),
  }));
  let list: number | undefined;
  const missingIn = (descriptor: number): readonly string[] => {
    // What is mounted last at a place is what is seen there.
    const seen = new Map(
      parseMounts(readFromStart(descriptor)).map(({ device, root, point }) => [point, `${device} ${root}`]),
    );
    return wanted
      .filter(({ path, identity }) => {
        const found = seen.get(path);
        return found === undefined || (identity !== undefined && found !== identity);
      })
      .map(({ path }) => path);
  };
  const close = (): void => {
    if (list !== undefined) closeSync(list);
    list = undefined;
  };
  return {
    isReady: (pid: number): boolean => {
      const opened = openSync(`/proc/${pid}/mountinfo`, "r");
      const isReady = missingIn(opened).length === 0;
      close();
      if (isReady) list = opened;
      else closeSync(opened);
      return isReady;
    },
    /** Guarded paths that are not, or no longer, under a mount; none where the program never ran. */
    unguarded: (): readonly string[] => (list === undefined ? [] : [...missingIn(list), ...unmounted]),
    close,
  };
};
