/** How well commands are held: by namespaces, by kernel rules on the process itself, or by nothing but our own checks. */
export type Tier = "bubblewrap" | "landlock" | "plain";

export interface CommandRequest {
  /** The program and its arguments, as judged and resolved: the first is the real file to run. */
  readonly argv: readonly [string, ...string[]];
  /** Real path of the directory to run in; inside the roots. */
  readonly cwd: string;
  readonly timeoutMs: number;
  /** Of each stream; the rest is read, counted and dropped. */
  readonly maxOutputBytes: number;
  /** Sees every byte as it comes, also beyond the bound; must be quick, and keep what it wants to keep. */
  readonly onOutput?: ((stream: "stdout" | "stderr", chunk: Buffer) => void) | undefined;
  /** Added to the clean environment; never inherited. */
  readonly env?: Readonly<Record<string, string>>;
  /** Whether its streams are a terminal, which it is to control. */
  readonly terminal?: boolean;
}

export interface SetAside {
  readonly path: string;
  readonly movedTo: string;
}

export interface CommandOutcome {
  /** Undefined where a signal ended it; bubblewrap, like a shell, tells a signal as 128 + its number. */
  readonly exitCode: number | undefined;
  readonly signal: string | undefined;
  readonly timedOut: boolean;
  readonly stdout: Buffer;
  readonly stderr: Buffer;
  /** What was written, also beyond the bound. */
  readonly stdoutBytes: number;
  readonly stderrBytes: number;
  readonly durationMs: number;
  readonly tier: Tier;
  /** Protected names that came into being during the run, and where they lie now: renamed, so that nothing reads them. */
  readonly setAside: readonly SetAside[];
}

/** What a command may see and change besides the system's own folders, which are read-only. */
export interface CommandGround {
  /** Real paths that may be written. */
  readonly writable: readonly string[];
  /** Real paths inside them that stay read-only or hidden: configuration, state, modules. */
  readonly readOnly: readonly string[];
  readonly hidden: readonly string[];
  /** Real paths inside them whose content is withheld, where they are there: a file is empty, a folder closed. */
  readonly withheld?: readonly string[];
  /** Real paths to read besides, such as a tool chain outside the system's folders. */
  readonly readable?: readonly string[];
  readonly network: boolean;
}

/** Runs one judged command to its end, with its whole tree, in the best tier that this machine has. */
export interface CommandRunner {
  run(request: CommandRequest, ground: CommandGround, signal?: AbortSignal): Promise<CommandOutcome>;
  /** The tier that is in force, found out once by trying. */
  tier(): Promise<Tier>;
}
