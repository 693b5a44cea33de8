// What the server answers. Numbers come with their texts; nothing is computed here.
import { bytesFromFile, fromFile, isFile, tsvFromFile } from "./offline";
import { selection } from "./state";

export type Column = { key: string; title: string; kind: string; about: string };
export type Link = { view: string; argument?: string; gc?: string };
export type Row = {
  kind: string; level: number; process: number; path: number; hidden?: number;
  values: (string | number | null)[]; texts: string[]; link?: Link;
};
export type Sheet = {
  view: string; is_tree: boolean; columns: Column[]; shown: string[]; order: string; total: number; offset: number;
  rows: Row[]; notes: string[]; losses: string[]; short?: string; command?: string;
};
export type Summary = {
  facts: [string, string][]; findings: { text: string; link: Link | null }[]; sections: (Sheet & { key: string; title: string })[];
  notes: string[]; remarks: string[]; losses: string[]; command: string;
};
export type View = { name: string; short: string; argument: string; grouped: boolean; optional: string[] };
export type Session = {
  path: string; older?: string; state: string; live?: boolean; has_memory: boolean; has_time: boolean; has_lifetimes: boolean; views: View[];
  metrics: { key: string; title: string; kind: string; about: string }[];
};
export type Timeline = { slices: { begin_ns: number; end_ns: number; allocations: number; bytes: number }[]; gcs: Sheet | null;
  usage: { begin_ns: number; end_ns: number; cpu_ns: number; threads: number; resident_bytes: number }[];
  marks: { at_ns: number; name: string; text: string }[]; pauses: { begin_ns: number; end_ns: number; level: string }[] };

type Query = Record<string, string | number | undefined>;

export function address(path: string, query: Query = {}): string {
  const p = new URLSearchParams(selection.value);
  for (const [key, value] of Object.entries(query)) if (value !== undefined && value !== "") p.set(key, String(value));
  return "/api/" + path + "?" + p;
}

async function answer(path: string, query: Query, more?: RequestInit): Promise<Response> {
  let r: Response;
  try {
    r = await fetch(address(path, query), more);
  } catch (e) {
    if ((e as Error).name === "AbortError") throw e;
    throw new Error("clrprof does not answer: it was ended, or its machine cannot be reached. Start clrprof view again.");
  }
  if (r.ok) return r;
  const text = await r.text();
  let said = text;
  try { said = JSON.parse(text).error ?? text; } catch { /* not from the page's own answers */ }
  throw new Error(said);
}

export async function get<T>(path: string, query: Query = {}, more?: RequestInit): Promise<T> {
  return isFile ? fromFile(path, query) : (await answer(path, query, more)).json();
}
/** An answer about the whole run, whatever is selected. */
export async function getWhole<T>(path: string): Promise<T> {
  if (isFile) return fromFile(path, {});
  const r = await fetch("/api/" + path);
  const value = await r.json();
  if (!r.ok) throw new Error(value.error);
  return value;
}
export async function getText(path: string, query: Query = {}): Promise<string> { return isFile ? tsvFromFile(query) : (await answer(path, query)).text(); }
export async function getBytes(path: string, query: Query = {}, more?: RequestInit): Promise<ArrayBuffer> {
  return isFile ? bytesFromFile(path, query) : (await answer(path, query, more)).arrayBuffer();
}
