/** A small workspace in which every tool has something to do. */
export const TOOL_FILES = {
  "a.txt": "one\ntwo\n",
  "src/m.ts": "export const helper = (n: number): number => n + 1;\nexport const use = () => helper(1);\n",
  "docs/install.md":
    "# Install\nRun the installer with administrator rights. The installer needs two gigabytes of disk space.\n",
  "flows/look.toml":
    'id = "look"\n[[steps]]\nid = "read"\nkind = "tool"\ntool = "read_file"\nargs = { path = "a.txt" }\n',
  "test_x.py": "def test_x():\n    assert True\n",
};

const PATCH = "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n-one\n+ONE\n two\n";

/**
 * For each tool, arguments with which it does something; what it changes is made anew for every call. Names in angle
 * brackets stand for identifiers that are known when it is called.
 */
export const TOOL_ARGUMENTS: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  "00_INIT": {},
  read_file: { path: "a.txt" },
  list_dir: {},
  stat: { path: "a.txt" },
  linux_fs_read: { path: "a.txt" },
  linux_fs_write: { path: "new.txt", content: "x\n" },
  linux_fs_edit: { path: "a.txt", old_text: "one", new_text: "uno" },
  linux_fs_list: { path: "." },
  linux_fs_move: { source: "a.txt", target: "b.txt" },
  linux_fs_copy: { source: "a.txt", target: "c.txt" },
  linux_fs_delete: { path: "a.txt" },
  linux_fs_mkdirs: { path: "d/e" },
  linux_search_files: { pattern: "a.txt" },
  linux_search_content: { pattern: "two" },
  linux_handle_read: { handle: "<handle>" },
  repo_read: { path: "a.txt" },
  repo_write_patch: { patch: PATCH },
  run_cmd: { command: "cat a.txt" },
  te_run: { args: ["cat", "a.txt"] },
  run_pytest: {},
  search_tools: { query: "read" },
  linux_proc_list: { top: 2 },
  linux_proc_start: { command: "cat a.txt" },
  linux_proc_read: { proc_id: "<process>" },
  linux_proc_send: { proc_id: "<process>", input: "x\n" },
  linux_proc_stop: { proc_id: "<process>" },
  linux_proc_kill: { proc_id: "<process>" },
  linux_sys_snapshot: {},
  rag_search: { query: "helper" },
  rag_search_enriched: { query: "helper" },
  rag_query: { query: "helper" },
  rag_where_used: { symbol: "helper" },
  rag_lineage: { symbol: "helper" },
  inspect: { target: "helper" },
  rag_stats: {},
  rag_plan: { query: "where is helper used" },
  kb_hybrid_search: { collection: "hand", query: "installer disk space" },
  kb_answer: { query: "How much disk space does the installer need?" },
  kb_get_document: { doc_id: "<document>" },
  kb_resolve_citations: { chunk_ids: ["<passage>"] },
  kb_stats: { collection: "hand" },
  kb_list_collections: {},
  kb_compose_flow: { flow_id: "look" },
  rlm_query: { task: "Which words are there?", context: "one two" },
  health: {},
  get_metrics: {},
  admin_get_status: {},
  admin_get_metrics: {},
};
