// A page that is a file has its answers inside.
import type { Sheet } from "./api";

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

export async function fromFile<T>(path: string, query: Query): Promise<T> {
  const { answers } = await store();
  let asked = query;
  if (path === "view") asked = { view: query.view, by: query.by === "type" ? "" : query.by, argument: query.argument };
  if (path === "tree") asked = { of_process: query.of_process, of_path: query.of_path, hot: query.hot };
  const found = answers[key(path, asked)] as { error?: string } | undefined;
  if (!found) throw missing();
  if (found.error) throw new Error(found.error);
  return (path === "view" ? arrange(found as unknown as Sheet, query) : found) as T;
}

export async function bytesFromFile(path: string, query: Query): Promise<ArrayBuffer> {
  const { binaries } = await store();
  const found = binaries[key(path, { ...query, most: "" })] ?? binaries[key(path, { ...query, metric: "", most: "" })];
  if (!found) throw missing();
  return bytes(found).buffer;
}

export async function tsvFromFile(query: Query): Promise<string> {
  const s = await fromFile<Sheet>("view", query);
  return [s.columns.map((c) => c.key), ...s.rows.filter((r) => !r.hidden).map((r) => r.values)].map((r) => r.map((v) => String(v ?? "").replace(/[\t\n\r\\]/g, " ")).join("\t")).join("\n") + "\n";
}
