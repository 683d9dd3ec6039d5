import { type SpawnSyncReturns, spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";

export const must = (program: string, args: readonly string[], env = process.env): void => {
  const { status, error } = spawnSync(program, args, { stdio: ["ignore", "inherit", "inherit"], env });
  if (status !== 0)
    throw new Error(`${program} ${args.join(" ").slice(0, 300)}: ${error?.message ?? status}`);
};

/** What stands for the base image: the same Debian, with a Node and an npm of this machine where the image has its own. */
export const makeBaseRoot = (root: string, suite: string, nodeBinary: string, npmFolder: string): void => {
  must("debootstrap", ["--variant=minbase", suite, root]);
  mkdirSync(join(root, "usr/local/lib/node_modules"), { recursive: true });
  cpSync(nodeBinary, join(root, "usr/local/bin/node"));
  cpSync(npmFolder, join(root, "usr/local/lib/node_modules/npm"), { recursive: true });
  const link = (name: string): void =>
    must("ln", ["-s", `../lib/node_modules/npm/bin/${name}-cli.js`, join(root, "usr/local/bin", name)]);
  link("npm");
  link("npx");
  // As the official image has it.
  must("chroot", [root, "groupadd", "--gid", "1000", "node"]);
  must("chroot", [
    root,
    "useradd",
    "--uid",
    "1000",
    "--gid",
    "node",
    "--shell",
    "/bin/bash",
    "--create-home",
    "node",
  ]);
  must("chroot", [root, "apt-get", "clean"]);
};

/** Certificates of this machine, for one whose way to the network has an authority of its own. */
const AUTHORITIES = "/etc/ssl/certs/ca-certificates.crt";
const AUTHORITIES_INSIDE = "/run/authorities.crt";

/** The mounts of a container while it is built: the root writable, the network that of this machine. */
const buildMounts = (root: string): readonly string[] => [
  ...[
    "--bind",
    root,
    "/",
    "--proc",
    "/proc",
    "--dev",
    "/dev",
    "--perms",
    "1777",
    "--tmpfs",
    "/tmp",
    "--tmpfs",
    "/run",
  ],
  ...["/etc/resolv.conf", "/etc/hosts"].filter(existsSync).flatMap((file) => ["--ro-bind", file, file]),
  ...(existsSync(AUTHORITIES) ? ["--ro-bind", AUTHORITIES, AUTHORITIES_INSIDE] : []),
];

const BUILD_ENV = {
  PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
  HOME: "/root",
  DEBIAN_FRONTEND: "noninteractive",
  ...(existsSync(AUTHORITIES) ? { NODE_EXTRA_CA_CERTS: AUTHORITIES_INSIDE } : {}),
};

/** A RUN step: the shell form, as root, in the stage's folder. */
export const runStep = (
  root: string,
  folder: string,
  command: string,
  env: Readonly<Record<string, string>>,
): void =>
  must(
    "bwrap",
    [
      ...buildMounts(root),
      ...["--unshare-pid", "--unshare-ipc", "--die-with-parent", "--cap-add", "ALL", "--chdir", folder],
      ...["--", "/bin/sh", "-c", command],
    ],
    { ...BUILD_ENV, ...env },
  );

/** A COPY step. `keeps` says which files of the source there are; its paths are relative to `from`. */
export const copyStep = (
  from: string,
  root: string,
  folder: string,
  { sources, target }: { readonly sources: readonly string[]; readonly target: string },
  keeps: (path: string) => boolean,
): void => {
  const isFolder = target.endsWith("/") || sources.length > 1;
  const destination = join(root, resolve(folder, target));
  for (const source of sources) {
    const path = join(from, source);
    // The content of a folder is copied, and a file into a folder.
    const to = !statSync(path).isDirectory() && isFolder ? join(destination, basename(source)) : destination;
    mkdirSync(dirname(to), { recursive: true });
    cpSync(path, to, {
      recursive: true,
      verbatimSymlinks: true,
      filter: (file) =>
        statSync(file, { throwIfNoEntry: false })?.isDirectory() !== false ||
        keeps(file.slice(from.length + 1)),
    });
  }
};

export const bytesOf = (root: string): number => {
  const { stdout }: SpawnSyncReturns<string> = spawnSync("du", ["-sxb", root], { encoding: "utf8" });
  return Number(/^\d+/.exec(stdout)?.[0] ?? 0);
};
