import { Option } from "commander";
import { type AddCommands, collect, withCommon } from "./common-options.ts";

/** `llmc policy` and what belongs to it. */
export const addPolicyCommands: AddCommands = (program, actions) => {
  const policy = program.command("policy").description("check, explain or test the Cedar policies");

  withCommon(
    policy
      .command("check")
      .description("check policy files and list their policies")
      .argument("[file...]", "other files than those in force (mcp.security.policy_files)"),
  )
    .option("--json", "as JSON")
    .action((files, options) => actions.checkPolicies(files, options));

  withCommon(
    policy
      .command("explain")
      .description("show which policies decide on a tool, and what that means")
      .argument("<tool>"),
  )
    .option("--program <name>", "the program that the tool is to start")
    .addOption(
      new Option("--power <program:power>", "a power that the program needs; may be repeated")
        .argParser(collect)
        .default([], "none"),
    )
    .option("--path <path>", "the path that the tool is to read")
    .option("--collection <name>", "the knowledge base that the tool is to read")
    .option(
      "--host <name>",
      "the host that text is to be sent to (ask_model; default: that of the agent's model)",
    )
    .option("--flow <id>", "the flow that kb_compose_flow is to run")
    .option("--principal <name>", "a token's name (default: local, who needs no token)")
    .option("--scopes <list>", "scopes, separated by commas (default: those of the token, or all)")
    .option("--agent <name>", "the label of the agent")
    .option("--granted", "as if the user had agreed")
    .option("--json", "as JSON")
    .action((tool, options) => actions.explainPolicy(tool, options));

  withCommon(
    policy
      .command("test")
      .description("compare decisions with those that a JSON or TOML file expects")
      .argument("<file>"),
  )
    .option("--json", "as JSON")
    .action((file, options) => actions.testPolicies(file, options));
};
