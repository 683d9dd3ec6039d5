import { Command, InvalidArgumentError, Option } from "commander";
import { PRESET_NAMES } from "../config/presets.ts";
import type { Actions } from "./actions.ts";
import { type AddCommands, withCommon } from "./common-options.ts";
import { SHELLS } from "./completion.ts";
import { CLIENTS } from "./connect/clients.ts";
import { addKbCommands } from "./kb-program.ts";
import { addPolicyCommands } from "./policy-program.ts";
import { addRlmCommands } from "./rlm-program.ts";
import { noteFailures } from "./run-program.ts";

const parsePresets = (text: string): readonly string[] => {
  const names = text.split(",").map((name) => name.trim());
  if (!names.every((name) => name === "none" || PRESET_NAMES.includes(name)))
    throw new InvalidArgumentError(`Allowed choices are ${PRESET_NAMES.join(", ")} and none.`);
  return names.filter((name) => name !== "none");
};

const addServeCommands: AddCommands = (program, actions) => {
  withCommon(program.command("serve").description("serve MCP over stdio or HTTP"))
    .option("--stdio", "speak MCP on stdin and stdout")
    .option("--http", "listen on HTTP, with MCP on /mcp")
    .option("--host <address>", "address to listen on")
    .option("--port <number>", "port to listen on; 0 picks a free one")
    .option("--generate-token", "create an access token on first use and store it in your state folder")
    .action((options) => actions.serve(options));

  withCommon(program.command("init").description("write a short, commented llmc.toml"))
    .addOption(
      new Option(
        "--preset <kinds>",
        `allow the programs of these kinds of project: ${PRESET_NAMES.join(", ")}, or none (default: ask)`,
      ).argParser(parsePresets),
    )
    .option("--all", "write every key with its default")
    .option("--print", "print it instead of writing it")
    .action((options) => actions.init(options));

  withCommon(
    program
      .command("connect")
      .description("add llmc to a client's configuration, after showing the change")
      .argument("[client]", CLIENTS.map(({ name }) => name).join(", ")),
  )
    .addOption(
      new Option("--scope <scope>", "the configuration of the project or of the user").choices([
        "project",
        "user",
      ]),
    )
    .option("--name <name>", "name of the server entry")
    .option("--remove", "remove the entry again")
    .option("--print", "only print the entry")
    .option("--yes", "write without asking")
    .addHelpText(
      "after",
      () => `\nClients:\n${CLIENTS.map(({ description }) => `  ${description}`).join("\n")}`,
    )
    .action((client, options) => actions.connect(client ?? "", options));
};

const addTrustCommands: AddCommands = (program, actions) => {
  withCommon(
    program
      .command("allow")
      .description("find programs on this machine and let commands run them, after showing the change")
      .argument("[program...]", "names or paths"),
  )
    .option("--repository", "let git use this work tree's git directory where it lies outside the roots")
    .option("--user", "for all your workspaces: in your own config.toml")
    .option("--yes", "write without asking")
    .option("--print", "only show what would change")
    .action((programs, options) => actions.allow(programs, options));

  withCommon(
    program
      .command("trust")
      .description("show what a workspace's llmc.toml allows beyond your own configuration, and grant it"),
  )
    .addOption(new Option("--yes", "grant without asking").conflicts(["revoke", "list"]))
    .addOption(new Option("--revoke", "revoke what was granted").conflicts("list"))
    .option("--list", "show the workspaces that are trusted")
    .option("--json", "as JSON")
    .action((options) => actions.trust(options));

  const repo = program.command("repo").description("check a workspace before you work in it");
  withCommon(repo.command("validate").description("check its llmc.toml and show what it would allow"))
    .option("--json", "as JSON")
    .action((options) => actions.validateRepo(options));
};

const addConfigCommands: AddCommands = (program, actions) => {
  const config = program.command("config").description("show, check or explain the configuration");
  withCommon(
    config
      .command("show", { isDefault: true })
      .description("print the effective configuration, or explain one key or table of it")
      .argument("[key]"),
  )
    .option("--origin", "show where each value comes from")
    .option("--json", "as JSON")
    .action((key, options) =>
      key === undefined ? actions.showConfig(options) : actions.explainConfig(key, options),
    );
  withCommon(
    config.command("validate").alias("check").description("check the file, the environment and the flags"),
  )
    .option("--json", "as JSON")
    .action((options) => actions.validateConfig(options));
  withCommon(config.command("explain").alias("get").description("explain a key or a table").argument("<key>"))
    .option("--json", "as JSON")
    .action((key, options) => actions.explainConfig(key, options));
};

const addToolCommands: AddCommands = (program, actions) => {
  withCommon(program.command("doctor").description("show what works on this machine and how to fix the rest"))
    .option("--json", "as JSON")
    .option("--attack", "also run harmless attacks against a temporary workspace and show which were stopped")
    .option(
      "--sandbox",
      "also try from inside a confined program what it must not do, and show the kernel's answers",
    )
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
    .option("--args <arguments>", "the arguments as a JSON object, or - to read them from stdin")
    .option("--json [arguments]", "print the structured result as JSON; with a value, the same as --args")
    .addOption(new Option("--structured", "the earlier spelling of --json").hideHelp())
    .option("--agent <name>", "name of the calling agent (default: llmc-cli)")
    .option("--session <name>", "name of the session")
    .option("--model <name>", "name of the calling model (default: mcp.session.default_model)")
    .action((tool, options) => actions.call(tool, options));

  withCommon(
    program
      .command("usage")
      .description("show how many tokens commands have cost, and how many te has saved"),
  )
    .option("--json", "as JSON")
    .option("--days <number>", "only the last <number> days")
    .option("--session <name>", "only one session")
    .action((options) => actions.usage(options));

  withCommon(
    program
      .command("quarantine")
      .description("list what commands left and llmc renamed, because programs would obey it"),
  )
    .option("--remove", "remove it, after showing and asking")
    .option("--yes", "with --remove: do not ask")
    .option("--json", "as JSON")
    .action((options) => actions.quarantine(options));

  withCommon(program.command("locks").description("show which process is writing which file"))
    .option("--json", "as JSON")
    .action((options) => actions.locks(options));
};

const withFilters = (command: Command): Command =>
  withCommon(command)
    .option("--since <time>", "only from this time on: a date, or 15m, 24h, 7d ago")
    .option("--until <time>", "only before this time")
    .option("--principal <name>", "only of this principal: a token's name, or local")
    .option("--tool <name>", "only this tool")
    .option("--outcome <code>", "only this outcome: ok, or an error code");

const addAuditCommands: AddCommands = (program, actions) => {
  const audit = program
    .command("audit")
    .description("verify, show or export the record of every call and decision");
  withCommon(
    audit
      .command("verify")
      .description("check that no record was changed, removed, added or moved, and say where one was"),
  )
    .option("--json", "as JSON")
    .action((options) => actions.verifyAudit(options));
  withFilters(audit.command("show").description("show the last records"))
    .option("--limit <number>", "how many (default: 50)")
    .option("--json", "as JSON")
    .action((options) => actions.showAudit(options));
  withFilters(audit.command("export").description("write all records to stdout, chain by chain"))
    .option("--limit <number>", "at most this many")
    .option("--json", "as JSON lines, which is the default")
    .addOption(
      new Option("--format <format>", "JSON lines as they were signed, or a table")
        .choices(["jsonl", "csv"])
        .default("jsonl"),
    )
    .action((options) => actions.exportAudit(options));
};

const addHelperCommands: AddCommands = (program, actions) => {
  program
    .command("completion")
    .description("print a script that completes llmc in a shell")
    .argument("<shell>", SHELLS.join(", "))
    .argument("[typed...]", "used by these scripts: -- llmc and its arguments, to print what may come next")
    .action((shell, typed) => actions.completion(shell, typed));

  withCommon(
    program
      .command("token")
      .description("print the token that serve --generate-token made for this workspace"),
  ).action((options) => actions.token(options));
};

const addIndexCommands: AddCommands = (program, actions) => {
  withCommon(program.command("index").description("bring the index of the workspace up to date"))
    .option("--force", "read and parse every file again")
    .option("--json", "as JSON")
    .action((options) => actions.index(options));

  withCommon(
    program.command("search").description("find code and documents by meaning or name").argument("[query]"),
  )
    .option("--file <path>", "a file with the question, such as a bug report; - for stdin")
    .addOption(new Option("--scope <scope>", "which files to search").choices(["repo", "docs", "both"]))
    .option("-k, --k <number>", "maximum number of snippets (at most mcp.rag.top_k)")
    .option("--budget <tokens>", "maximum number of tokens (at most mcp.rag.token_budget)")
    .option("--path <glob>", "only files that match")
    .option("--language <name>", "only this language")
    .addOption(new Option("--kind <kind>", "only this kind").choices(["code", "prose", "data", "text"]))
    .option("--json", "as JSON, like the tool rag_search")
    .action((query, options) => actions.search(query, options));

  withCommon(
    program
      .command("where-used")
      .description("show where a symbol is used")
      .argument("<symbol>", "Name, Class.method or path:line"),
  )
    .option("--limit <n>", "uses at most")
    .option("--json", "as JSON")
    .action((symbol, options) => actions.whereUsed(symbol, options));

  withCommon(
    program
      .command("inspect")
      .description("show the definition, documentation and neighbours of a symbol or file")
      .argument("<target>", "Name, Class.method, path or path:line"),
  )
    .option("--json", "as JSON")
    .action((target, options) => actions.inspect(target, options));
};

/** The command line. Help, usage errors and suggestions are generated from these definitions. */
export const createProgram = (actions: Actions, version: string, print?: (text: string) => void): Command => {
  const program = new Command("llmc")
    .description("An MCP server with safe hands and a memory for any agent.")
    .version(version, "-V, --version")
    // The version of a knowledge base, after the command, is not the one of the program.
    .enablePositionalOptions();
  addServeCommands(program, actions);
  addTrustCommands(program, actions);
  addConfigCommands(program, actions);
  addPolicyCommands(program, actions);
  addToolCommands(program, actions);
  addIndexCommands(program, actions);
  addRlmCommands(program, actions);
  addKbCommands(program, actions.kb);
  addAuditCommands(program, actions);
  addHelperCommands(program, actions);
  const nested = program.commands.flatMap(({ commands }) => commands);
  for (const command of [program, ...program.commands, ...nested]) {
    noteFailures(command);
    command.configureOutput({ outputError: () => {}, ...(print && { writeOut: print }) });
  }
  return program;
};
