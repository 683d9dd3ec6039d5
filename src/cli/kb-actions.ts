/** What is asked of `llmc kb`: one command with its arguments. */
export type KbCommand =
  | { readonly do: "create"; readonly name: string; readonly product: string }
  | {
      readonly do: "add";
      readonly name: string;
      readonly sources: readonly string[];
      readonly version?: string | undefined;
      readonly dryRun: boolean;
    }
  | {
      readonly do: "sync";
      readonly name: string;
      readonly version?: string | undefined;
      readonly dryRun: boolean;
    }
  | {
      readonly do: "forget";
      readonly name: string;
      readonly sources: readonly string[];
      readonly version?: string | undefined;
    }
  | {
      readonly do: "promote";
      readonly name: string;
      readonly version?: string | undefined;
      readonly force: boolean;
    }
  | { readonly do: "ls" }
  | {
      readonly do: "search";
      readonly name: string;
      readonly query: string;
      readonly version?: string | undefined;
      readonly topK?: string | undefined;
    }
  | {
      readonly do: "ask";
      readonly query: string;
      readonly collection?: string | undefined;
      readonly model?: string | undefined;
    }
  | {
      readonly do: "eval";
      readonly name: string;
      readonly questions?: string | undefined;
      readonly version?: string | undefined;
      readonly report?: string | undefined;
    }
  | { readonly do: "rollback"; readonly name: string }
  | { readonly do: "pin"; readonly name: string; readonly version?: string | undefined }
  | {
      readonly do: "export";
      readonly name: string;
      readonly file: string;
      readonly version?: string | undefined;
    }
  | { readonly do: "import"; readonly file: string; readonly name?: string | undefined }
  | { readonly do: "gc"; readonly name?: string | undefined; readonly keep?: string | undefined }
  | { readonly do: "rm"; readonly name: string; readonly yes: boolean };
