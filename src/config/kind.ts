import type { Kind } from "../base/option.ts";

export const describeKind = (kind: Kind): string => {
  switch (kind.is) {
    case "flag":
      return "true or false";
    case "text":
      return "a string";
    case "list":
      return "a list of strings";
    case "whole":
      return `a whole number from ${kind.min} to ${kind.max}`;
    case "decimal":
      return `a number from ${kind.min} to ${kind.max}`;
    case "choice":
      return `one of ${kind.values.map((value) => JSON.stringify(value)).join(", ")}`;
  }
};
