import type { AnswerCall, FlowSteps, KnowledgeCaller } from "./caller.ts";
import type {
  Answer,
  AnswerRequest,
  DocumentAnswer,
  DocumentRequest,
  Filters,
  FlowAnswer,
  Hit,
  ListedCollection,
  ResolvedCitation,
  SearchRequest,
  Stats,
} from "./contract.ts";

/** Knowledge bases as tools use them. What a caller may not read is refused before it is looked up. */
export interface Knowledge {
  hybridSearch(request: SearchRequest, caller: KnowledgeCaller): Promise<readonly Hit[]>;
  answer(request: AnswerRequest, call: AnswerCall): Promise<Answer>;
  getDocument(request: DocumentRequest, caller: KnowledgeCaller): Promise<DocumentAnswer>;
  resolveCitations(
    chunkIds: readonly string[],
    caller: KnowledgeCaller,
  ): Promise<readonly ResolvedCitation[]>;
  listCollections(
    filters: Filters | undefined,
    caller: KnowledgeCaller,
  ): Promise<readonly ListedCollection[]>;
  stats(
    request: { readonly collection?: string | undefined; readonly version?: string | undefined },
    caller: KnowledgeCaller,
  ): Promise<Stats>;
  composeFlow(
    request: {
      readonly id: string;
      readonly params: Readonly<Record<string, unknown>>;
      readonly signal?: AbortSignal | undefined;
    },
    caller: KnowledgeCaller,
    steps: FlowSteps,
  ): Promise<FlowAnswer>;
}
