import { Command, CommanderError, Option } from "commander";
import { LlmcError } from "../base/error.ts";
import { MODES } from "../core/options.ts";

/** What every command takes. */
export interface CommonOptions {
  readonly root?: string;
  readonly config?: string;
  readonly mode?: (typeof MODES)[number];
  readonly set: readonly string[];
}

export interface ServeOptions extends CommonOptions {
  readonly stdio?: true;
  readonly http?: true;
  readonly host?: string;
  readonly port?: string;
  readonly generateToken?: true;
}

export interface ConnectFlags extends CommonOptions {
  readonly scope?: "project" | "user";
  readonly name?: string;
  readonly remove?: true;
  readonly print?: true;
  readonly yes?: true;
}

/** What the commands do; the program that wires everything provides it. */
export interface Actions {
  serve(options: ServeOptions): Promise<void>;
  init(options: CommonOptions): Promise<void>;
  showConfig(options: CommonOptions & { readonly origin?: true; readonly json?: true }): Promise<void>;
  validateConfig(options: CommonOptions): Promise<void>;
  explainConfig(key: string, options: CommonOptions): Promise<void>;
  doctor(options: CommonOptions & { readonly json?: true }): Promise<void>;
  tools(options: CommonOptions & { readonly json?: true }): Promise<void>;
  locks(options: CommonOptions & { readonly json?: true }): Promise<void>;
  call(
    tool: string,
    options: CommonOptions & { readonly json: string; readonly structured?: true },
  ): Promise<void>;
  connect(client: string, options: ConnectFlags): Promise<void>;
}

const collect = (value: string, previous: readonly string[]): readonly string[] => [...previous, value];

const withCommon = (command: Command): Command =>
  command
    .option("--root <dir>", "workspace (default: LLMC_ROOT, or this folder)")
    .option("--config <file>", "configuration file (default: LLMC_CONFIG, or llmc.toml in the workspace)")
    .addOption(new Option("--mode <mode>", "which tools clients see").choices([...MODES]))
    .addOption(
      new Option("--set <key=value>", "override a configuration key; may be repeated")
        .argParser(collect)
        .default([], "none"),
    );

/** The command line. Help, usage errors and suggestions come from the definitions here. */
export const createProgram = (actions: Actions, version: string): Command => {
  const program = new Command("llmc")
    .description("An MCP server with safe hands and a memory for any agent.")
    .version(version, "-V, --version")
    .showHelpAfterError("(llmc --help shows the commands)")
    .exitOverride()
    .configureOutput({ outputError: () => {} });

  withCommon(program.command("serve").description("serve MCP over stdio or HTTP"))
    .option("--stdio", "speak MCP on stdin and stdout")
    .option("--http", "listen on HTTP, with MCP on /mcp")
    .option("--host <address>", "address to listen on")
    .option("--port <number>", "port to listen on; 0 picks a free one")
    .option("--generate-token", "make an access token on first use and keep it in .llmc/token")
    .action((options) => actions.serve(options));

  withCommon(program.command("init").description("write a commented llmc.toml")).action((options) =>
    actions.init(options),
  );

  const config = program.command("config").description("show, check or explain the configuration");
  withCommon(config.command("show", { isDefault: true }).description("print the effective configuration"))
    .option("--origin", "say where each value comes from")
    .option("--json", "as JSON")
    .action((options) => actions.showConfig(options));
  withCommon(config.command("validate").description("check the file, the environment and the flags")).action(
    (options) => actions.validateConfig(options),
  );
  withCommon(config.command("explain").description("explain a key or a table").argument("<key>")).action(
    (key, options) => actions.explainConfig(key, options),
  );

  withCommon(program.command("doctor").description("say what works on this machine and how to mend the rest"))
    .option("--json", "as JSON")
    .action((options) => actions.doctor(options));

  withCommon(
    program.command("tools").description("show what a client sees in each mode, and what it costs in tokens"),
  )
    .option("--json", "as JSON")
    .action((options) => actions.tools(options));

  withCommon(
    program
      .command("call")
      .description("call one tool, without a server (every tool, unless --mode is given)")
      .argument("<tool>"),
  )
    .option("--json <arguments>", "the arguments as a JSON object, or - to read them from stdin", "{}")
    .option("--structured", "print the structured result as JSON")
    .action((tool, options) => actions.call(tool, options));

  withCommon(program.command("locks").description("show which process is writing which file"))
    .option("--json", "as JSON")
    .action((options) => actions.locks(options));

  withCommon(
    program
      .command("connect")
      .description("put llmc into a client's configuration, after showing the change")
      .argument("<client>", "claude-desktop, claude-code, cursor, vscode, codex or zed"),
  )
    .addOption(new Option("--scope <scope>", "whose configuration").choices(["project", "user"]))
    .option("--name <name>", "name of the server entry")
    .option("--remove", "take the entry out again")
    .option("--print", "only print what to paste")
    .option("--yes", "write without asking")
    .action((client, options) => actions.connect(client, options));

  for (const command of [program, ...program.commands, ...config.commands]) {
    command.exitOverride().configureOutput({ outputError: () => {} });
  }
  return program;
};

/** Runs the command line; usage errors come out as `invalid_args`, help and version end quietly. */
export const runProgram = async (program: Command, argv: readonly string[]): Promise<void> => {
  try {
    await program.parseAsync(argv, { from: "user" });
  } catch (thrown) {
    if (!(thrown instanceof CommanderError)) throw thrown;
    if (thrown.exitCode === 0 || thrown.code === "commander.help") return;
    throw new LlmcError("invalid_args", thrown.message.replace(/^error: /, ""), {
      hint: "llmc --help shows the commands.",
    });
  }
};
