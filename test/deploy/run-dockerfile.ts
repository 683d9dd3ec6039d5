/**
 * Executes every step of deploy/Dockerfile in a fresh Debian root, without a container engine, and then starts the
 * result as compose would: its user, a read-only root, no capabilities. Needs root, debootstrap, bubblewrap and the
 * network, some minutes and 2 GB.
 *
 *   node test/deploy/run-dockerfile.ts [FOLDER]
 *
 * FOLDER is where the roots are made; what is already finished there is used again. Without it: a temporary one, removed
 * at the end.
 */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { createContextFilter, REPOSITORY, readFromRoot } from "./context.ts";
import { copyOf, execOf, type Instruction, pairsOf, parseDockerfile, type Stage } from "./dockerfile.ts";
import { bytesOf, copyStep, makeBaseRoot, must, runStep } from "./fresh-root.ts";
import { tryImage } from "./try-image.ts";

const say = (text: string): void => void process.stdout.write(`${text}\n`);

/** The package behind the `npm` of this machine. */
const npmFolder = (): string => {
  const folders = (process.env["PATH"] ?? "").split(":");
  const found = folders.map((folder) => join(folder, "npm")).find((file) => existsSync(file));
  if (found === undefined) throw new Error("npm is not installed");
  return resolve(dirname(realpathSync(found)), "..");
};

interface Built {
  readonly root: string;
  readonly env: Readonly<Record<string, string>>;
  readonly user: string;
  readonly folder: string;
  readonly command: readonly string[];
  readonly healthCheck: readonly string[];
}

interface Building {
  readonly root: string;
  readonly roots: ReadonlyMap<string, string>;
  readonly keeps: (path: string) => boolean;
  env: Record<string, string>;
  args: Record<string, string>;
  folder: string;
  user: string;
  healthCheck: readonly string[];
  entry: readonly string[];
  command: readonly string[];
}

/** Instructions that change nothing in the root file system, and nothing in how we start it. */
const NOTES = ["LABEL", "EXPOSE", "STOPSIGNAL", "VOLUME"];

const execute = (step: Instruction, at: Building): void => {
  const { name, text } = step;
  if (name === "ARG") {
    const [key = "", value = ""] = text.split("=", 2);
    at.args[key] = value;
  } else if (name === "ENV") at.env = { ...at.env, ...Object.fromEntries(pairsOf(text)) };
  else if (name === "WORKDIR") {
    at.folder = resolve(at.folder, text);
    mkdirSync(join(at.root, at.folder), { recursive: true });
  } else if (name === "USER") at.user = text;
  else if (name === "RUN") runStep(at.root, at.folder, text, { ...at.args, ...at.env });
  else if (name === "COPY") {
    const copy = copyOf(step);
    const stage = copy.from === undefined ? undefined : at.roots.get(copy.from);
    if (copy.from !== undefined && stage === undefined) throw new Error(`no stage ${copy.from} above`);
    copyStep(stage ?? REPOSITORY, at.root, at.folder, copy, stage === undefined ? at.keeps : () => true);
  } else if (name === "HEALTHCHECK") at.healthCheck = execOf(step);
  else if (name === "ENTRYPOINT") at.entry = execOf(step);
  else if (name === "CMD") at.command = execOf(step);
  else if (!NOTES.includes(name)) throw new Error(`Dockerfile:${step.line}: ${name} is not known here`);
};

const build = (stages: readonly Stage[], folder: string): Built => {
  const base = join(folder, "base");
  if (!existsSync(base)) {
    const suite = /-(\w+)-slim$/.exec(stages[0]?.image ?? "")?.[1] ?? "bookworm";
    say(`== base: ${suite} with Node ${process.versions.node}`);
    makeBaseRoot(`${base}.part`, suite, process.execPath, npmFolder());
    renameSync(`${base}.part`, base);
  }
  const roots = new Map<string, string>();
  const keeps = createContextFilter(readFromRoot(".dockerignore"));
  let built: Built | undefined;
  for (const [index, stage] of stages.entries()) {
    const name = stage.name ?? `stage-${index}`;
    const root = join(folder, name);
    rmSync(root, { recursive: true, force: true });
    must("cp", ["--archive", "--reflink=auto", base, root]);
    const at: Building = {
      ...{ root, roots, keeps, env: {}, args: {}, folder: "/", user: "0:0" },
      ...{ healthCheck: [], entry: [], command: [] },
    };
    for (const step of stage.instructions) {
      say(`== ${name}: ${step.name} ${step.text.replace(/\s+/g, " ").slice(0, 160)}`);
      execute(step, at);
    }
    roots.set(name, root);
    say(`== ${name}: ${Math.round((bytesOf(root) - bytesOf(base)) / 1e6)} MB beside the base image`);
    const { env, user, healthCheck } = at;
    built = { root, env, user, healthCheck, folder: at.folder, command: [...at.entry, ...at.command] };
  }
  if (built === undefined) throw new Error("the Dockerfile has no stage");
  return built;
};

const [given] = process.argv.slice(2);
const folder = given === undefined ? mkdtempSync(join(tmpdir(), "llmc-image-")) : resolve(given);
mkdirSync(folder, { recursive: true });
// The image's user must be able to reach it.
chmodSync(folder, 0o755);
try {
  const built = build(parseDockerfile(readFromRoot("deploy/Dockerfile")), folder);
  await tryImage(built, say);
  say(`== good; ${Math.round(bytesOf(folder) / 1e6)} MB in ${readdirSync(folder).join(", ")}`);
} finally {
  if (given === undefined) rmSync(folder, { recursive: true, force: true });
}
