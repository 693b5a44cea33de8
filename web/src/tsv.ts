// Rows as tab-separated values.
const escapes: Record<string, string> = { "\t": "\\t", "\n": "\\n", "\r": "\\r", "\\": "\\\\" };

/** Rows as the command line prints them with --tsv. */
export const tsv = (rows: unknown[][]) => rows.map((r) => r.map((v) => String(v ?? "").replace(/[\t\n\r\\]/g, (c) => escapes[c])).join("\t")).join("\n") + "\n";
