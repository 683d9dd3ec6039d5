/** A kind of project: the files by which it is recognized, and the programs that people use in it. */
interface Preset {
  readonly name: string;
  /** Any of these in the workspace. */
  readonly markers: readonly string[];
  readonly programs: readonly string[];
  /** Programs that only projects with this file use. */
  readonly withFile?: Readonly<Record<string, readonly string[]>>;
}

const PRESETS: readonly Preset[] = [
  {
    name: "node",
    markers: ["package.json"],
    programs: ["node", "npm"],
    withFile: {
      "pnpm-lock.yaml": ["pnpm"],
      "yarn.lock": ["yarn"],
      "bun.lock": ["bun"],
      "bun.lockb": ["bun"],
    },
  },
  {
    name: "python",
    markers: ["pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "Pipfile"],
    programs: ["python3", "pytest"],
    withFile: { "uv.lock": ["uv"], "poetry.lock": ["poetry"] },
  },
  { name: "rust", markers: ["Cargo.toml"], programs: ["cargo"] },
  { name: "go", markers: ["go.mod"], programs: ["go"] },
  {
    name: "java",
    markers: ["pom.xml", "build.gradle", "build.gradle.kts"],
    programs: ["java", "javac"],
    withFile: { "pom.xml": ["mvn"], "build.gradle": ["gradle"], "build.gradle.kts": ["gradle"] },
  },
  {
    // Programs that only read text and write what they made of it: none has an option that runs or writes.
    name: "text",
    markers: [],
    programs: [
      "cut",
      "tr",
      "nl",
      "tac",
      "comm",
      "column",
      "basename",
      "dirname",
      "realpath",
      "seq",
      "date",
      "jq",
    ],
  },
];

export const PRESET_NAMES: readonly string[] = PRESETS.map(({ name }) => name);

export interface DetectedPreset {
  readonly name: string;
  readonly programs: readonly string[];
}

/** The presets of the names given, or those that fit the workspace. */
export const presetsFor = async (
  has: (file: string) => Promise<boolean>,
  names?: readonly string[],
): Promise<readonly DetectedPreset[]> => {
  const anyOf = async (files: readonly string[]): Promise<boolean> =>
    (await Promise.all(files.map(has))).includes(true);
  const fits = await Promise.all(
    PRESETS.map(async ({ name, markers }) => (names === undefined ? anyOf(markers) : names.includes(name))),
  );
  return Promise.all(
    PRESETS.filter((_preset, at) => fits[at]).map(async ({ name, programs, withFile = {} }) => {
      const more = await Promise.all(
        Object.entries(withFile).map(async ([file, used]) => ((await has(file)) ? used : [])),
      );
      return { name, programs: [...new Set([...programs, ...more.flat()])] };
    }),
  );
};
