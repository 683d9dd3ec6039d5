import { isRecord } from "../base/is-record.ts";
import { type Question, UNANSWERED } from "../tools/contract.ts";
import type { Answered } from "./call-log.ts";
import type { Origin } from "./origin.ts";

/** The field of the form. */
export const ANSWER = "grant";
export type Answer = Answered["answer"];

export const SCHEMA: Extract<Question, { readonly kind: "form" }>["schema"] = {
  type: "object",
  properties: {
    [ANSWER]: {
      type: "string",
      title: "Allow",
      description:
        "once: only this call. session: until this connection, or over HTTP the server, ends. never: do not ask again.",
      enum: ["once", "session", "never"],
      default: "once",
    },
  },
};

/** Accepted without content is a yes to this one call. Everything that is not clearly a yes is a no. */
export const readAnswer = (answers: Origin["answers"]): Answer => {
  const given = answers?.[ANSWER];
  if (given === undefined || (isRecord(given) && given["unanswered"] === UNANSWERED.unanswered))
    return "unanswered";
  if (!isRecord(given) || given["action"] !== "accept") return "declined";
  const { content } = given;
  if (content === undefined || content === null) return "once";
  if (!isRecord(content)) return "declined";
  const { [ANSWER]: value } = content;
  if (value === undefined) return "once";
  return value === "once" || value === "session" || value === "never" ? value : "declined";
};

/** Why nobody is asked any more; undefined where nobody was asked. */
export const describeAnswer = (answer: Answer | undefined): string | undefined => {
  if (answer === undefined) return undefined;
  if (answer === "never") return "The user was asked, and does not want to be asked again";
  return `The user was asked and did not ${answer === "unanswered" ? "answer" : "agree"}`;
};
