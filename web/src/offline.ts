// A page that is a file has its answers inside.
import type { Sheet } from "./api";
import { tsv } from "./tsv";

type Store = { answers: Record<string, unknown>; binaries: Record<string, string> };
type Query = Record<string, string | number | undefined>;

const data = document.getElementById("data");

/** Whether the page is a file, without a server. */
export const isFile = !!data;

function bytes(base64: string): Uint8Array<ArrayBuffer> {
  const text = atob(base64), out = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) out[i] = text.charCodeAt(i);
  return out;
}

let unpacked: Promise<Store> | undefined;
function store(): Promise<Store> {
  unpacked ??= new Response(new Blob([bytes(data!.textContent!.trim())]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
  return unpacked;
}

function key(path: string, query: Query): string {
  return path + "?" + Object.entries(query).filter(([, v]) => v !== undefined && v !== "").map(([k, v]) => k + "=" + v).sort((a, b) => (a < b ? -1 : 1)).join("&");
}

const missing = () => new Error("This file does not hold that: clrprof view shows it from the session itself.");

/** The rows of a sheet that are asked for: the file holds them in one order, and all of them. */
function arrange(sheet: Sheet, query: Query): Sheet {
  let rows = sheet.rows;
  if (query.find) {
    const text = String(query.find).toLowerCase();
    rows = rows.filter((r) => r.hidden || r.values.some((v) => typeof v === "string" && v.toLowerCase().includes(text)));
  }
  if (query.sort && query.sort !== sheet.order && !sheet.is_tree) {
    const at = sheet.columns.findIndex((c) => c.key === query.sort);
    rows = [...rows].sort((a, b) => {
      const x = a.values[at], y = b.values[at];
      return typeof x === "number" && typeof y === "number" ? y - x : x === null ? 1 : y === null ? -1 : String(x) < String(y) ? -1 : 1;
    });
  }
  if (query.reverse && !sheet.is_tree) rows = [...rows].reverse();
  const offset = Number(query.offset ?? 0), limit = Number(query.limit ?? rows.length);
  const left = sheet.total - sheet.rows.length;
  const notes = left > 0 && !sheet.is_tree ? [...sheet.notes, `This file holds the first ${sheet.rows.length} of ${sheet.total} rows.`] : sheet.notes;
  return { ...sheet, notes, order: String(query.sort || sheet.order), total: rows.length, offset, rows: rows.slice(offset, offset + limit) };
}

/** The rows of a tree that the file holds, and one for those that it does not. */
function withRest(sheet: Sheet): Sheet {
  const left = sheet.total - sheet.rows.length;
  if (!left) return sheet;
  const rest = { ...sheet.rows[0], link: undefined, values: [], texts: [`${left.toLocaleString("en")} more, which this file does not have`], hidden: left };
  return { ...sheet, total: sheet.rows.length + 1, rows: [...sheet.rows, rest] };
}

export async function fromFile<T>(path: string, query: Query): Promise<T> {
  const { answers } = await store();
  let asked = query;
  if (path === "view") asked = { view: query.view, by: query.by === "type" ? "" : query.by, argument: query.argument };
  if (path === "tree") asked = { of_process: query.of_process, of_path: query.of_path, hot: query.hot };
  const found = answers[key(path, asked)] as { error?: string } | undefined;
  if (!found) throw missing();
  if (found.error) throw new Error(found.error);
  if (path === "tree") return withRest(found as unknown as Sheet) as T;
  return (path === "view" ? arrange(found as unknown as Sheet, query) : found) as T;
}

export async function bytesFromFile(path: string, query: Query): Promise<ArrayBuffer> {
  const { answers, binaries } = await store();
  const plain = key(path, { ...query, most: "", color: "" });
  const found = binaries[plain] ?? binaries[key(path, { ...query, metric: "", most: "", color: "" })];
  if (!found) throw missing();
  if (!query.color) return bytes(found).buffer;
  const colors = answers[key(path, { ...query, most: "" })] as Colors | undefined;
  if (!colors) throw missing();
  return colored(bytes(found), colors);
}

/** What frames have with a colour, beside what they have without. */
type Colors = { colors: string[]; color: string; share: string };

/** A call tree with colours, as the server sends it. */
function colored(b: Uint8Array<ArrayBuffer>, c: Colors): ArrayBuffer {
  const length = new DataView(b.buffer).getUint32(0, true), at = 4 + length;
  const head = { ...JSON.parse(new TextDecoder().decode(b.subarray(4, at))), colors: c.colors };
  let text = new TextEncoder().encode(JSON.stringify(head));
  if ((4 + text.length) % 8) text = new TextEncoder().encode(JSON.stringify(head) + " ".repeat(8 - (4 + text.length) % 8));
  const n: number = head.sent, parts = [text, b.subarray(at, at + 16 * n), bytes(c.color), b.subarray(at + 16 * n), bytes(c.share)];
  const out = new Uint8Array(4 + parts.reduce((sum, p) => sum + p.length, 0));
  new DataView(out.buffer).setUint32(0, text.length, true);
  let to = 4;
  for (const part of parts) { out.set(part, to); to += part.length; }
  return out.buffer;
}

export async function tsvFromFile(query: Query): Promise<string> {
  const s = await fromFile<Sheet>("view", query);
  return tsv([s.columns.map((c) => c.key), ...s.rows.filter((r) => !r.hidden).map((r) => r.values)]);
}
