import { setTimeout as pause } from "node:timers/promises";
import type { ModuleKit } from "../../../src/core/custom-modules.ts";
import { addTool, text } from "../fixture.ts";

/** Long enough that messages leave one by one, in milliseconds. */
const STEP_MS = 50;

/** What a call sends before its result: log messages, progress, or an end of the stream. */
export const register = (kit: ModuleKit): void => {
  addTool(kit, {
    name: "test_tool_with_logging",
    description: "Logs three messages to the client.",
    answer: async (call) => {
      await call.log("info", "Tool execution started");
      await pause(STEP_MS);
      await call.log("info", "Tool processing data");
      await pause(STEP_MS);
      await call.log("info", "Tool execution completed");
      return [text("Logged three messages.")];
    },
  });
  addTool(kit, {
    name: "test_logging_tool",
    description: "Logs one message, which only a client that asked for it receives.",
    answer: async (call) => {
      await call.log("info", "Tool execution started");
      return [text("Logged one message.")];
    },
  });
  addTool(kit, {
    name: "test_tool_with_progress",
    description: "Reports progress three times.",
    answer: async (call) => {
      for (const done of [0, 50, 100]) {
        if (done > 0) await pause(STEP_MS);
        await call.progress(done, 100, `Completed ${done} of 100`);
      }
      return [text("Reported progress three times.")];
    },
  });
  addTool(kit, {
    name: "test_reconnection",
    description: "Ends its stream before the result is there; the client comes back for it.",
    answer: async (call) => {
      call.releaseStream();
      await pause(2 * STEP_MS);
      return [text("Reconnection test completed.")];
    },
  });
};
