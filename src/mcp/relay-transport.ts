import {
  type JSONRPCMessage,
  parseJSONRPCMessage,
  SUBSCRIPTION_ID_META_KEY,
  type Transport,
} from "@modelcontextprotocol/server";
import { isRecord } from "../base/is-record.ts";
import type { RelayRecord } from "../link/relay-records.ts";
import { type Frame, failedAnswer, oversizeReason, parseFrame, refuseEnds, refuseShape } from "./frames.ts";
import { createNegotiation } from "./negotiation.ts";
import { shortError } from "./short-error.ts";

type Id = string | number;

interface RelayParts {
  /** Counts fronts: questions of one are not answered to the next. */
  readonly front: number;
  /** Sends a record to the supervisor; resolves when there is room for another. */
  readonly send: (kind: string, fields: readonly (string | number)[], payload?: string) => Promise<void>;
  /** Whether the core works on the request. */
  readonly isAsked: (n: number) => boolean;
  readonly onRefused: (reason: string) => void;
}

/** A request of the client that has no answer yet. */
interface OpenRequest {
  /** As the client numbers it. */
  readonly id: Id;
  readonly method: string;
  readonly generation: number;
  /** Another front has had it before. */
  readonly isRepeated: boolean;
  /** Its answer was sent by another front. */
  readonly isAnswered: boolean;
}

interface Delivery {
  readonly n: number;
  readonly generation: number;
  readonly isRepeated: boolean;
  readonly isAnswered: boolean;
}

/** Questions of front 3 have the ids 3,000,000 and following: the library counts from 0 in each. */
const IDS_PER_FRONT = 1_000_000;

const DEADLY = "The message ended the process that reads messages: it is not read again.";
const ACKNOWLEDGED = "notifications/subscriptions/acknowledged";

/**
 * MCP over records of the supervisor, which keeps each line until it is answered. Inside, requests have the numbers of their
 * lines instead of their ids, so that each answer finds its line, whatever ids a client uses.
 */
export class RelayTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly #parts: RelayParts;
  readonly #open = new Map<number, OpenRequest>();
  /** Lines that cancel a request which the core still works on. */
  readonly #cancelling = new Map<number, number[]>();
  /** Those that the client has not answered: by the id that it knows, the library's own. */
  readonly #questions = new Map<number, Id>();
  readonly #negotiation: ReturnType<typeof createNegotiation>;
  #closed = false;

  constructor(parts: RelayParts) {
    this.#parts = parts;
    this.#negotiation = createNegotiation((kind, n) => this.#report(kind, n));
  }

  async start(): Promise<void> {}

  generationOf(n: number): number {
    return this.#open.get(n)?.generation ?? 0;
  }

  isRepeated(n: number): boolean {
    return this.#open.get(n)?.isRepeated ?? false;
  }

  /** A line of the client, in the form of the supervisor. */
  receive({ kind, fields, payload }: RelayRecord): void {
    const [n = 0, generation = 0, fronts = 0] = fields.slice(0, 3).map(Number);
    const isAnswered = kind === "R";
    const delivery = { n, generation, isRepeated: isAnswered || fronts > 0, isAnswered };
    if (kind === "X") this.#take(delivery, this.#refusalOf(fields));
    else this.#take(delivery, parseFrame(payload));
    this.#report("T", n);
  }

  /** The core is done with a request. */
  settled(n: number): void {
    const lines = this.#cancelling.get(n);
    if (lines === undefined) return;
    this.#cancelling.delete(n);
    this.#done(n, ...lines);
  }

  #report(kind: string, n: number | string, payload?: string): void {
    void this.#parts.send(kind, [n], payload);
  }

  #done(...lines: readonly number[]): void {
    for (const n of lines) {
      this.#open.delete(n);
      this.#report("D", n);
    }
  }

  #refusalOf([, , , size, limit, head = "", tail = ""]: readonly string[]): Frame {
    const isOversize = Number(limit) > 0;
    const reason = isOversize ? oversizeReason(Number(size), Number(limit)) : DEADLY;
    return refuseEnds(reason, Buffer.from(head, "base64"), Buffer.from(tail, "base64"));
  }

  #refuse(n: number, frame: Extract<Frame, { kind: "refused" }>): void {
    this.#parts.onRefused(frame.reason);
    const answer = failedAnswer(frame);
    if (answer !== undefined) {
      this.#takeAnswer({ n }, answer);
      return;
    }
    const error = { code: frame.code, message: frame.reason };
    const answers = frame.ids.map((id) => JSON.stringify({ jsonrpc: "2.0", id, error }));
    for (const answer of answers.slice(0, -1)) this.#report("G", n, answer);
    const last = answers.at(-1);
    if (last === undefined) this.#report("D", n);
    else this.#report("A", n, last);
  }

  #take(delivery: Delivery, frame: Frame): void {
    if (frame.kind === "refused") {
      this.#refuse(delivery.n, frame);
      return;
    }
    let message: JSONRPCMessage;
    try {
      message = parseJSONRPCMessage(frame.value);
    } catch {
      this.#refuse(delivery.n, refuseShape(frame.value));
      return;
    }
    if (!("method" in message)) this.#takeAnswer(delivery, message);
    else if ("id" in message) this.#takeRequest(delivery, message);
    else if (message.method === "notifications/cancelled") this.#takeCancel(delivery, message);
    else {
      if (!delivery.isAnswered) this.#negotiation.note(delivery.n, message);
      this.onmessage?.(message);
      if (!delivery.isAnswered) this.#report("D", delivery.n);
    }
  }

  #takeRequest(
    { n, ...delivery }: Delivery,
    message: Extract<JSONRPCMessage, { method: string; id: Id }>,
  ): void {
    this.#open.set(n, { ...delivery, id: message.id, method: message.method });
    this.#negotiation.note(n, message, delivery.isAnswered);
    this.onmessage?.({ ...message, id: n });
  }

  /** The line stays until the core has stopped: a front that dies now leaves it to the next. */
  #takeCancel({ n: line }: Delivery, message: Extract<JSONRPCMessage, { method: string }>): void {
    const cancelled: unknown = message.params?.["requestId"];
    const found = [...this.#open].filter(([, { id }]) => id === cancelled).map(([n]) => n);
    let isWaiting = false;
    for (const n of found) {
      const isAsked = this.#parts.isAsked(n);
      isWaiting ||= isAsked;
      if (isAsked) this.#cancelling.set(n, [...(this.#cancelling.get(n) ?? []), line]);
      this.onmessage?.({ ...message, params: { ...message.params, requestId: n } } as JSONRPCMessage);
      if (!isAsked) this.#done(n);
    }
    if (!isWaiting) this.#report("D", line);
  }

  #takeAnswer({ n }: Pick<Delivery, "n">, message: JSONRPCMessage): void {
    const id = "id" in message ? Number(message.id) : Number.NaN;
    const asked = this.#questions.get(id);
    if (asked !== undefined) {
      this.#endQuestion(id);
      this.onmessage?.({ ...message, id: asked } as JSONRPCMessage);
    }
    this.#report("D", n);
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (this.#closed) return;
    if (!("method" in message)) return this.#sendAnswer(message);
    if ("id" in message) return this.#sendQuestion(message);
    if (message.method === "notifications/cancelled") return this.#takeBackQuestion(message);
    const { [SUBSCRIPTION_ID_META_KEY]: subscription } = (message.params?.["_meta"] ?? {}) as Record<
      string,
      unknown
    >;
    const request = typeof subscription === "number" ? this.#open.get(subscription) : undefined;
    if (request === undefined) return this.#parts.send("M", [], JSON.stringify(message));
    // The front that had the line first has already answered this.
    if (message.method === ACKNOWLEDGED && request.isRepeated) return undefined;
    return this.#parts.send("M", [], JSON.stringify(withSubscription(message, request.id)));
  }

  #sendAnswer(message: JSONRPCMessage): Promise<void> | undefined {
    const n = "id" in message ? Number(message.id) : Number.NaN;
    const request = this.#open.get(n);
    this.#open.delete(n);
    if (request === undefined || request.isAnswered) return undefined;
    const bounded = "error" in message ? { ...message, error: shortError(message.error) } : message;
    const named = { ...withSubscription(bounded, request.id), id: request.id };
    return this.#parts.send("A", [n], JSON.stringify(named));
  }

  #sendQuestion(message: Extract<JSONRPCMessage, { method: string; id: Id }>): Promise<void> {
    const id = this.#questionId(message.id);
    this.#questions.set(id, message.id);
    this.#report("Q", this.#questions.size);
    return this.#parts.send("M", [], JSON.stringify({ ...message, id }));
  }

  /** Nobody waits for the answer any more: the client may close its dialog. */
  #takeBackQuestion(message: Extract<JSONRPCMessage, { method: string }>): Promise<void> | undefined {
    const id = this.#questionId(message.params?.["requestId"]);
    if (!this.#endQuestion(id)) return undefined;
    return this.#parts.send(
      "M",
      [],
      JSON.stringify({ ...message, params: { ...message.params, requestId: id } }),
    );
  }

  /** As the client knows it. */
  #questionId(own: unknown): number {
    return this.#parts.front * IDS_PER_FRONT + Number(own);
  }

  #endQuestion(id: number): boolean {
    const wasOpen = this.#questions.delete(id);
    if (wasOpen) this.#report("Q", this.#questions.size);
    return wasOpen;
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.onclose?.();
  }
}

/** The id of the subscription as the client knows it, in a notification or in the answer that ends it. */
const withSubscription = <T extends object>(message: T, id: Id): T => {
  const key = "result" in message ? "result" : "params";
  const body: unknown = Reflect.get(message, key);
  const meta: unknown = isRecord(body) ? body["_meta"] : undefined;
  if (!isRecord(body) || !isRecord(meta) || !(SUBSCRIPTION_ID_META_KEY in meta)) return message;
  return { ...message, [key]: { ...body, _meta: { ...meta, [SUBSCRIPTION_ID_META_KEY]: id } } };
};
