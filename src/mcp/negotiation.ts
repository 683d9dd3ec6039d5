import { isRecord } from "../base/is-record.ts";

interface Message {
  readonly method: string;
  readonly params?: unknown;
}

const uriOf = ({ params }: Message): string => (isRecord(params) ? String(params["uri"]) : "");

/**
 * Which lines a connection depends on after they were answered: the next front has to read them before any other. K keeps a
 * line, Z lets it go, and W says that a line stays open.
 */
export const createNegotiation = (report: (kind: "K" | "Z" | "W", n: number) => void) => {
  let level: number | undefined;
  const subscriptions = new Map<string, number>();
  /** A later line that says the same takes the place of an earlier one. */
  const replace = (before: number | undefined): void => {
    if (before !== undefined) report("Z", before);
  };
  return {
    note: (n: number, message: Message, isKept = false): void => {
      const keep = (): void => {
        if (!isKept) report("K", n);
      };
      switch (message.method) {
        case "initialize":
        case "notifications/initialized":
          keep();
          return;
        case "logging/setLevel":
          keep();
          replace(level);
          level = n;
          return;
        case "resources/subscribe":
          keep();
          replace(subscriptions.get(uriOf(message)));
          subscriptions.set(uriOf(message), n);
          return;
        case "resources/unsubscribe":
          replace(subscriptions.get(uriOf(message)));
          subscriptions.delete(uriOf(message));
          return;
        case "subscriptions/listen":
          report("W", n);
          return;
      }
    },
  };
};
