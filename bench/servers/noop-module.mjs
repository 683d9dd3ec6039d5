// A custom module with the least that a tool can be: what is left of a call's time is the pipe's own.
export const register = ({ z, tool }) => {
  tool({
    name: "noop",
    description: "Does nothing.",
    effect: "read",
    input: z.object({}),
    run: async () => "ok",
    render: (output) => output,
  });
};
