import { timingSafeEqual } from "node:crypto";
import type { Socket } from "node:net";
import { LinkBroken } from "./link-broken.ts";

/** How long a request waits until the core has opened another connection. */
const MAX_WAIT_MS = 5000;
/** The core shows its token as soon as it has connected. */
const MAX_TOKEN_MS = 5000;

interface Waiter {
  readonly resolve: (socket: Socket) => void;
  readonly reject: (error: LinkBroken) => void;
}

/** Connections that the core has opened to a front, until they are used. */
export const createCoreConnections = (token: string, maxTokenMs = MAX_TOKEN_MS) => {
  const expected = Buffer.from(token);
  /** Those that have not shown the token yet. */
  const unproven = new Set<Socket>();
  const spares = new Set<Socket>();
  const waiting = new Set<Waiter>();
  let isClosed = false;

  const keep = (socket: Socket): void => {
    const [next] = waiting;
    if (next === undefined) {
      // The core may send nothing before it is asked; reading also notices that the connection was closed.
      socket.on("data", () => socket.destroy());
      spares.add(socket);
    } else next.resolve(socket);
  };

  const wait = (gone?: AbortSignal): Promise<Socket> =>
    new Promise((resolve, reject) => {
      const settle = <T>(done: (outcome: T) => void) => {
        return (outcome: T): void => {
          clearTimeout(timer);
          gone?.removeEventListener("abort", leave);
          waiting.delete(waiter);
          done(outcome);
        };
      };
      const waiter: Waiter = { resolve: settle(resolve), reject: settle(reject) };
      const leave = (): void => waiter.reject(new LinkBroken("nobody needs the connection any more"));
      gone?.addEventListener("abort", leave);
      const timer = setTimeout(
        () => waiter.reject(new LinkBroken("the core has opened no connection")),
        MAX_WAIT_MS,
      );
      waiting.add(waiter);
    });

  return {
    /** A connection that was just opened: the core identifies itself before anything else. */
    add: (socket: Socket): void => {
      if (isClosed) {
        socket.destroy();
        return;
      }
      unproven.add(socket);
      const deadline = setTimeout(() => socket.destroy(), maxTokenMs).unref();
      const forget = (): void => {
        clearTimeout(deadline);
        unproven.delete(socket);
      };
      let head = Buffer.alloc(0);
      const read = (chunk: Buffer): void => {
        head = Buffer.concat([head, chunk]);
        if (head.length < expected.length) return;
        socket.off("data", read);
        if (head.length === expected.length && timingSafeEqual(head, expected)) {
          forget();
          keep(socket);
        } else socket.destroy();
      };
      socket.on("error", () => socket.destroy());
      socket.once("close", () => {
        forget();
        spares.delete(socket);
      });
      socket.on("data", read);
    },
    /**
     * A connection that nobody uses yet; the core opens another one as soon as this one is used. So nobody may wait who will
     * not use it: `gone` fires when whoever waits needs none any more.
     */
    take: (gone?: AbortSignal): Promise<Socket> => {
      if (isClosed || gone?.aborted === true) return Promise.reject(new LinkBroken("closed"));
      const [spare] = spares;
      if (spare === undefined) return wait(gone);
      spares.delete(spare);
      spare.removeAllListeners("data");
      return Promise.resolve(spare);
    },
    close: (): void => {
      isClosed = true;
      for (const socket of [...unproven, ...spares]) socket.destroy();
      for (const { reject } of [...waiting]) reject(new LinkBroken("closed"));
    },
  };
};
