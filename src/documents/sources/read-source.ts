import { LlmcError } from "../../base/error.ts";
import { cloneRepository } from "../../host/fetch/clone-repository.ts";
import { openFolderTree } from "../../host/fetch/folder-tree.ts";
import { openGitTree } from "../../host/fetch/git-tree.ts";
import type { ReadSource, SourceItem, SourceNetwork, SourceOptions } from "../contract.ts";
import { readTree } from "./read-tree.ts";
import { readWeb } from "./read-web.ts";

const networkOf = ({ network }: SourceOptions): SourceNetwork => {
  if (network !== undefined) return network;
  throw new LlmcError("egress_denied", "The source is elsewhere, and the network is not allowed.", {
    hint: "mcp.security.air_gapped_mode forbids it. Name a folder, a file or a local repository.",
  });
};

/** Files below the source are more than its documents: manifests and licences count too. */
const FILES_PER_DOCUMENT = 4;

const treeOptions = ({ denylist, closed, maxDocuments }: SourceOptions) => ({
  denylist,
  closed,
  maxFiles: maxDocuments * FILES_PER_DOCUMENT,
});

/** `git+PATH#REVISION`, or a path that ends in `.git`; an address in place of the path is cloned. */
const GIT = /^(?:git\+(?<prefixed>[^#]+)|(?<bare>[^#]+\.git))(?:#(?<revision>[^#]+))?$/;

const REMOTE = /^[a-z][\w+.-]*:/i;

async function* readRepository(
  repository: string,
  revision: string,
  options: SourceOptions,
  signal: AbortSignal | undefined,
): AsyncGenerator<SourceItem> {
  if (!REMOTE.test(repository)) {
    await using tree = await openGitTree(repository, revision, treeOptions(options));
    yield* readTree(tree, options, signal);
    return;
  }
  const { privateHosts } = networkOf(options);
  const rules = { privateHosts, maxBytes: options.maxDocumentBytes, timeoutMs: options.timeoutMs };
  await using clone = await cloneRepository(repository, revision, rules, signal);
  await using tree = await openGitTree(clone.path, "HEAD", treeOptions(options));
  yield* readTree(tree, options, signal);
}

export const readSource: ReadSource = async function* (source, options, signal) {
  const { prefixed, bare, revision = "HEAD" } = GIT.exec(source)?.groups ?? {};
  const repository = prefixed ?? bare;
  if (repository !== undefined) yield* readRepository(repository, revision, options, signal);
  else if (/^https?:/i.test(source)) yield* readWeb(source, options, networkOf(options), signal);
  else if (REMOTE.test(source) && source.includes("//"))
    throw new LlmcError(
      "invalid_args",
      "A source is a path, a git repository, or an address of http or https.",
    );
  else {
    await using tree = await openFolderTree(source, treeOptions(options), signal);
    yield* readTree(tree, options, signal);
  }
};
