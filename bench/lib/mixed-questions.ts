/** What a question about a package is answered by: its documents, its code, or nothing in it. */
export type AnsweredBy = "docs" | "code" | "nothing";

export interface MixedQuestion {
  readonly package: string;
  readonly text: string;
  readonly by: AnsweredBy;
  /** Files that answer it. */
  readonly files: readonly string[];
}

type Rows = readonly (readonly [text: string, ...files: string[]])[];

const rows = (name: string, by: AnsweredBy, list: Rows): readonly MixedQuestion[] =>
  list.map(([text, ...files]) => ({ package: name, text, by, files }));

const docs = (name: string, list: Rows) => rows(name, "docs", list);
const code = (name: string, list: Rows) => rows(name, "code", list);

/** Headings of the documents of installed packages in other words, and questions about what their code does. */
export const MIXED_QUESTIONS: readonly MixedQuestion[] = [
  ...docs("fastify", [
    ["how do I report a security vulnerability", "SECURITY.md"],
    ["what does fastify support for LTS", "docs/Reference/LTS.md"],
    ["project governance", "GOVERNANCE.md"],
    ["who governs the project", "GOVERNANCE.md"],
    ["list of sponsors", "SPONSORS.md"],
    ["SECURITY.md", "SECURITY.md"],
    ["how to write a plugin guide", "docs/Guides/Write-Plugin.md", "docs/Guides/Plugins-Guide.md"],
    ["migrating from version 4 to 5", "docs/Guides/Migration-Guide-V5.md"],
    ["deploying to AWS Lambda or Google Cloud Run", "docs/Guides/Serverless.md"],
    ["how do I connect to a database", "docs/Guides/Database.md"],
    ["recommended reverse proxy setup with nginx", "docs/Guides/Recommendations.md"],
    ["getting started with a first server", "docs/Guides/Getting-Started.md"],
    ["list of community plugins", "docs/Guides/Ecosystem.md"],
    ["design principles of the framework", "docs/Reference/Principles.md"],
    ["how to benchmark with autocannon", "docs/Guides/Benchmarking.md"],
    ["what is a prototype poisoning attack", "docs/Guides/Prototype-Poisoning.md"],
    ["rules for writing documentation", "docs/Guides/Style-Guide.md"],
    ["docs/Reference/Hooks.md", "docs/Reference/Hooks.md"],
  ]),
  ...docs("pino", [
    ["how do I rotate log files", "docs/help.md"],
    ["sending a vulnerability report", "SECURITY.md"],
    ["which node versions are supported for how long", "docs/lts.md"],
    ["how to use it with express or koa", "docs/web.md"],
    ["bundling with webpack or esbuild", "docs/bundling.md"],
    ["who are the team members of the project", "README.md"],
    ["rules for contributors", "CONTRIBUTING.md"],
    ["known transports for datadog and elasticsearch", "docs/transports.md"],
    ["mapping log levels to Google Cloud Logging", "docs/help.md"],
    ["caveats of asynchronous logging", "docs/asynchronous.md"],
    ["frameworks and utilities of the ecosystem", "docs/ecosystem.md"],
    ["CONTRIBUTING", "CONTRIBUTING.md"],
  ]),
  ...docs("commander", [
    ["how do I install it", "Readme.md"],
    ["quick start", "Readme.md"],
    ["enterprise support subscription", "Readme.md"],
    ["which node versions are supported", "Readme.md"],
    ["README", "Readme.md"],
  ]),
  ...docs("ws", [
    ["how to connect via a proxy", "README.md"],
    ["how do I get the IP address of the client", "README.md"],
    ["how to detect and close broken connections", "README.md"],
    ["example of a server broadcast", "README.md"],
    ["which version of the protocol is supported", "README.md"],
  ]),
  ...docs("picomatch", [
    ["why use it instead of other libraries", "README.md"],
    ["comparison with minimatch and micromatch", "README.md"],
    ["how to run the tests and build the documentation", "README.md"],
    ["who wrote it, and where to contact the author", "README.md"],
  ]),
  ...docs("diff", [
    ["release notes of version 8", "release-notes.md"],
    ["how is a new release published", "CONTRIBUTING.md"],
    ["which browsers and environments are compatible", "README.md"],
  ]),
  ...code("fastify", [
    ["where is the fourOhFour router built", "lib/four-oh-four.js"],
    ["how are unknown routes answered with 404", "lib/four-oh-four.js"],
    ["where is ContentTypeParser", "lib/content-type-parser.js"],
    ["how is a request body parsed as JSON", "lib/content-type-parser.js"],
    ["how are request ids generated", "lib/req-id-gen-factory.js"],
    ["where is Reply.prototype.send", "lib/reply.js"],
    ["how does a redirect set status code and location", "lib/reply.js"],
    ["how are onRequest hooks run one after another", "lib/hooks.js"],
    ["where are hooks validated when they are added", "lib/hooks.js"],
    ["how is the pino logger created", "lib/logger-factory.js", "lib/logger-pino.js"],
    ["how are shared schemas kept with addSchema", "lib/schemas.js", "lib/schema-controller.js"],
    ["where does the request get its ip behind a trusted proxy", "lib/request.js"],
    ["how does a plugin get an encapsulated instance of its own", "lib/plugin-override.js"],
    ["how are decorators checked for their dependencies", "lib/decorate.js"],
    ["how does listen bind all addresses of localhost", "lib/server.js"],
    ["how are HEAD routes made for GET routes", "lib/head-route.js", "lib/route.js"],
    ["how is the error handler of a route called", "lib/error-handler.js"],
    ["how is a promise returned by a handler awaited", "lib/wrap-thenable.js", "lib/handle-request.js"],
    ["how is a route registered with its options", "lib/route.js"],
  ]),
  ...code("pino", [
    ["where are redaction paths parsed", "lib/redaction.js"],
    ["how is a child logger created", "lib/proto.js"],
    ["how are level numbers mapped to labels", "lib/levels.js"],
    ["how is a worker started for a transport", "lib/transport.js"],
    ["format the timestamp as iso string", "lib/time.js"],
    ["how does multistream write to each stream by level", "lib/multistream.js"],
    ["which file called the function, from the stack", "lib/caller.js"],
    ["flush the destination at process exit", "lib/tools.js", "lib/transport.js"],
  ]),
  ...code("commander", [
    ["how are suggestions for misspelt commands computed", "lib/suggestSimilar.js"],
    ["how is the help text wrapped", "lib/help.js"],
    ["where is a missing required argument reported", "lib/command.js"],
    ["error class for invalid arguments", "lib/error.js"],
    ["where are the flags of an option split into short and long", "lib/option.js"],
  ]),
  ...code("ws", [
    ["where are frames masked", "lib/buffer-util.js", "lib/sender.js"],
    ["how is permessage-deflate negotiated", "lib/permessage-deflate.js"],
    ["how is an upgrade request validated", "lib/websocket-server.js"],
    ["where is a close frame received", "lib/receiver.js"],
    ["limit of concurrent zlib jobs", "lib/limiter.js", "lib/permessage-deflate.js"],
    ["check that a buffer is valid utf-8", "lib/validation.js"],
    ["parse the header of subprotocols", "lib/subprotocol.js"],
  ]),
  ...code("picomatch", [
    ["how are braces expanded", "lib/parse.js"],
    ["scan a glob for its base path", "lib/scan.js"],
    ["posix character classes", "lib/constants.js"],
    ["replace backslashes of windows paths", "lib/utils.js"],
  ]),
  ...code("diff", [
    ["apply a patch with fuzz factor", "lib/patch/apply.js", "src/patch/apply.js", "libesm/patch/apply.js"],
    ["parse a unified diff", "lib/patch/parse.js", "libesm/patch/parse.js"],
  ]),
  ...["fastify", "pino", "ws"].flatMap((name) =>
    rows(name, "nothing", [
      ["how do I bake a chocolate cake"],
      ["quantum entanglement of photons"],
      ["train a neural network on several GPUs"],
      ["monthly invoice and sales tax"],
      ["recipe for sourdough bread"],
      ["butterfly migration in autumn"],
    ]),
  ),
];
