import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { LlmcError, renderForHttp, renderForModel, toLlmcError } from "./error.ts";
import { ERROR_TABLE, type ErrorCode, familyOf, publishedCode } from "./error-table.ts";

const denied = new LlmcError("path_denied", "That is outside.", {
  hint: "Stay inside.",
  details: { field: "path" },
});

describe("REQ-D2: one error, rendered by each door", () => {
  test("for a model: error and meta, with the family's code", () => {
    expect(renderForModel(denied, "plain", "id-1")).toEqual({
      error: "That is outside. Stay inside.",
      meta: { error_code: "path_denied", retryable: false, field: "path", correlation_id: "id-1" },
    });
    expect(renderForModel(denied, "linux", "id-1").meta.error_code).toBe("INVALID_PATH");
    expect(renderForModel(denied, "kb", "id-1").meta.error_code).toBe("PERMISSION_DENIED");
  });

  test("for HTTP: code, message, hint, correlation id", () => {
    expect(renderForHttp(denied, "id-1")).toEqual({
      code: "FORBIDDEN",
      message: "That is outside.",
      hint: "Stay inside.",
      correlation_id: "id-1",
    });
  });

  test.each([
    ["linux_fs_read", "linux"],
    ["kb_answer", "kb"],
    ["admin_get_status", "kb"],
    ["read_file", "plain"],
    ["linuxish", "plain"],
  ])("%s belongs to the %s family", (tool, family) => {
    expect(familyOf(tool)).toBe(family);
  });

  test("the documents' own codes are all there", () => {
    const codes = Object.keys(ERROR_TABLE) as ErrorCode[];
    const plain = [
      "invalid_args",
      "path_denied",
      "file_not_found",
      "file_too_large",
      "egress_denied",
      "budget_exceeded",
      "timeout",
      "provider_error",
      "internal_error",
    ];
    expect(codes).toEqual(expect.arrayContaining(plain));
    const http = new Map(codes.map((code) => [ERROR_TABLE[code].http, ERROR_TABLE[code].status]));
    expect([...http.keys()]).toEqual(
      expect.arrayContaining([
        "AUTH_FAILED",
        "FORBIDDEN",
        "BAD_ARGS",
        "TOO_LARGE",
        "RATE_LIMITED",
        "INTERNAL",
        "NOT_FOUND",
        "TIMEOUT",
        "BUSY",
      ]),
    );
    const linux = codes.map((code) => publishedCode(code, "linux"));
    expect(linux).toEqual(
      expect.arrayContaining([
        "INVALID_PATH",
        "NOT_FOUND",
        "PERMISSION_DENIED",
        "OUTPUT_TOO_LARGE",
        "NOT_A_DIRECTORY",
        "IS_DIRECTORY",
        "INVALID_ARGS",
      ]),
    );
    const kb = codes.map((code) => publishedCode(code, "kb"));
    expect(kb).toEqual(
      expect.arrayContaining([
        "VALIDATION_ERROR",
        "PERMISSION_DENIED",
        "RESOURCE_NOT_FOUND",
        "SERVICE_UNAVAILABLE",
        "INTERNAL_ERROR",
        "TIMEOUT",
      ]),
    );
  });
});

describe("what else is thrown", () => {
  test("FAIL-D8: becomes an internal error that says nothing of it", () => {
    const error = toLlmcError(new Error("secret words at /root/x"));
    expect(error.code).toBe("internal_error");
    expect(JSON.stringify(renderForModel(error, "plain", "id"))).not.toMatch(/secret|root/);
  });

  test("FAIL-D5: what ends with a signal is cancelled, for the reason of the signal where it has one of ours", async () => {
    const thrownBy = (signal: AbortSignal): Promise<unknown> =>
      sleep(1000, undefined, { signal }).catch((thrown: unknown) => thrown);
    expect(toLlmcError(await thrownBy(AbortSignal.abort()))).toMatchObject({ code: "cancelled" });
    expect(toLlmcError(AbortSignal.abort().reason)).toMatchObject({ code: "cancelled" });
    expect(toLlmcError(await thrownBy(AbortSignal.abort(denied)))).toBe(denied);
  });

  test.each([
    ["EMFILE", "busy", true],
    ["ENFILE", "busy", true],
    ["ENOSPC", "unavailable", false],
    ["EROFS", "permission_denied", false],
  ])("FAIL-D7: %s is %s", (code, expected, retryable) => {
    const error = toLlmcError(Object.assign(new Error("x"), { code }));
    expect([error.code, error.retryable]).toEqual([expected, retryable]);
  });
});
