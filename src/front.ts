import "./host/os/english-only.ts";
import { endProgram } from "./wiring/end-program.ts";
import { serveFront } from "./wiring/front.ts";

// Meant for the program that the client started, which ends this one.
for (const signal of ["SIGINT", "SIGHUP"] as const) process.on(signal, () => {});

await serveFront();
endProgram();
