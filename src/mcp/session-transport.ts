import {
  type HandleRequestOptions,
  isJSONRPCErrorResponse,
  isJSONRPCNotification,
  isJSONRPCRequest,
  isJSONRPCResultResponse,
  type JSONRPCMessage,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";

type Id = string | number;
type SendOptions = Parameters<WebStandardStreamableHTTPServerTransport["send"]>[1];

const INVALID_REQUEST = -32600;
/** As other protocols on JSON-RPC have it. Only who resumes the stream of a request that was cancelled sees it. */
const CANCELLED = -32800;

const cancelledBy = (message: unknown): Id | undefined => {
  if (!isJSONRPCNotification(message) || message.method !== "notifications/cancelled") return undefined;
  const id = message.params?.["requestId"];
  return typeof id === "string" || typeof id === "number" ? id : undefined;
};

/**
 * The library's transport of a session, and which of its requests have no answer yet. The library by itself gives the answer
 * to one of two requests with the same id to the stream of the other, and never ends the stream of one that was cancelled.
 */
export class SessionTransport extends WebStandardStreamableHTTPServerTransport {
  readonly #unanswered = new Set<Id>();

  override async handleRequest(request: Request, options?: HandleRequestOptions): Promise<Response> {
    const message = options?.parsedBody;
    if (isJSONRPCRequest(message)) return this.#ask(message.id, () => super.handleRequest(request, options));
    const response = await super.handleRequest(request, options);
    const cancelled = cancelledBy(message);
    if (cancelled !== undefined) await this.#end(cancelled);
    return response;
  }

  override async send(message: JSONRPCMessage, options?: SendOptions): Promise<void> {
    try {
      await super.send(message, options);
    } finally {
      const isAnswer = isJSONRPCResultResponse(message) || isJSONRPCErrorResponse(message);
      if (isAnswer && message.id !== undefined) this.#unanswered.delete(message.id);
    }
  }

  async #ask(id: Id, handle: () => Promise<Response>): Promise<Response> {
    if (this.#unanswered.has(id)) {
      const error = { code: INVALID_REQUEST, message: "A request with this id has no answer yet." };
      return Response.json({ jsonrpc: "2.0", id, error }, { status: 400 });
    }
    this.#unanswered.add(id);
    let isTaken = false;
    try {
      const response = await handle();
      isTaken = response.ok;
      return response;
    } finally {
      if (!isTaken) this.#unanswered.delete(id);
    }
  }

  /** The client expects no answer: its stream ends without one. The library forgets the request when it is answered. */
  async #end(id: Id): Promise<void> {
    if (!this.#unanswered.has(id)) return;
    this.closeSSEStream(id);
    await this.send({
      jsonrpc: "2.0",
      id,
      error: { code: CANCELLED, message: "The request was cancelled." },
    });
  }
}
