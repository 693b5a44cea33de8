// What the server answers. Numbers come with their texts; nothing is computed here.
import { Lost, lost } from "./link";
import { bytesFromFile, fromFile, isFile, tsvFromFile } from "./offline";
import { selection } from "./state";

export type Column = { key: string; title: string; kind: string; about: string };
/** Where more is told: what is not there of process and so on stays as it is selected. */
export type Link = { view: string; argument?: string; gc?: string; process?: string; thread?: string; module?: string; namespace?: string };
export type Row = {
  kind: string; level: number; process: number; path: number; hidden?: number; leaf?: boolean;
  values: (string | number | null)[]; texts: string[]; link?: Link;
  /** By the position of a value that is an estimate: where it lies, in words. */
  estimates?: Record<number, string>;
};
export type Sheet = {
  view: string; is_tree: boolean; columns: Column[]; shown: string[]; order: string; total: number; offset: number;
  rows: Row[]; notes: string[]; losses: string[]; short?: string; command?: string;
  /** Over how many threads the elapsed times that it shows are added up. */
  threads?: number;
};
export type Summary = {
  facts: [string, string][]; findings: { text: string; link: Link | null }[]; sections: (Sheet & { key: string; title: string })[];
  notes: string[]; remarks: string[]; losses: string[]; broken: number; command: string; quick?: boolean;
};
export type View = { name: string; short: string; argument: string; is_tree: boolean; groups: string[]; grouped: boolean; async: boolean; optional: string[] };
export type Session = {
  path: string; id: string; older?: string; state: string; live?: boolean; has_memory: boolean; has_time: boolean; has_lifetimes: boolean; has_snapshot: boolean; has_tests: boolean; has_endpoints: boolean; has_user_code: boolean; has_async: boolean; ticks_per_second: number; marks: string[]; views: View[];
  metrics: { key: string; title: string; kind: string; about: string }[]; colors: string[]; compared?: string[]; compared_views?: { name: string; columns: string[]; titles: string[] }[];
};
export type Timeline = { slices: { begin_ns: number; end_ns: number; allocations: number; bytes: number }[]; gcs: Sheet | null;
  usage: { begin_ns: number; end_ns: number; cpu_ns: number; threads: number; resident_bytes: number }[];
  marks: { at_ns: number; name: string; text: string }[]; pauses: { begin_ns: number; end_ns: number; level: string }[];
  counters: Counter[]; chosen: { begin_ns: number; end_ns: number } | null };
export type Counter = { name: string; unit: string; is_sum: boolean; about: string };
/** A level at the end of each span, or by how much a sum grew in it. */
export type CounterPoints = Counter & { begin_ns: number[]; end_ns: number[]; value: number[] };

type Query = Record<string, string | number | undefined>;

export function address(path: string, query: Query = {}, of = selection.value): string {
  const p = new URLSearchParams(of);
  for (const [key, value] of Object.entries(query)) if (value !== undefined && value !== "") p.set(key, String(value));
  return "/api/" + path + "?" + p;
}

/** What a request is given: how to give it up, whom to tell how many bytes have come, of how many, if that is known, and
 * which part of the session it is about. Without that it is the one of now: what goes on with an answer has its own. */
export type Asked = RequestInit & { progress?: (got: number, of: number) => void; selection?: string };
/** What a load is given. */
export type Load = Asked & { selection: string };
/** What a load of several requests is given: with first it shows what it has before all of it is there. */
export type Loading<T> = Load & { first: (value: T) => void };

async function answer(path: string, query: Query, more?: Asked, whole = false): Promise<Response> {
  let r: Response;
  try {
    r = await fetch(whole ? "/api/" + path : address(path, query, more?.selection), more);
  } catch (e) {
    if ((e as Error).name !== "AbortError") lost();
    throw e instanceof Error && e.name === "AbortError" ? e : new Lost();
  }
  if (r.status === 403) { lost(); throw new Lost(); } // a server that has begun anew knows no cookie of the one before
  if (r.ok) return counted(r, more?.progress);
  const text = await r.text();
  let said = text;
  try { said = JSON.parse(text).error ?? text; } catch { /* not from the page's own answers */ }
  throw new Error(said);
}

/** The answer, with what comes of it told at most ten times a second. */
function counted(r: Response, progress?: Asked["progress"]): Response {
  if (!progress || !r.body) return r;
  const of = Number(r.headers.get("Content-Length") ?? 0);
  let got = 0, timer = 0;
  const count = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, to) {
      got += chunk.length;
      timer ||= window.setTimeout(() => { timer = 0; progress(got, of); }, 100);
      to.enqueue(chunk);
    },
    flush() { clearTimeout(timer); },
  });
  return new Response(r.body.pipeThrough(count), { headers: r.headers });
}

export async function get<T>(path: string, query: Query = {}, more?: Asked): Promise<T> {
  return isFile ? fromFile(path, query) : finished((await answer(path, query, more)).json());
}

/** An answer about the whole run, whatever is selected. */
export async function getWhole<T>(path: string, more?: Asked): Promise<T> { return isFile ? fromFile(path, {}) : finished((await answer(path, {}, more, true)).json()); }

export async function getText(path: string, query: Query = {}): Promise<string> { return isFile ? tsvFromFile(query) : finished((await answer(path, query)).text()); }

export async function getBytes(path: string, query: Query = {}, more?: Asked): Promise<ArrayBuffer> {
  return isFile ? bytesFromFile(path, query) : finished((await answer(path, query, more)).arrayBuffer());
}

/** A body that ends early is a server that has gone. */
async function finished<T>(body: Promise<T>): Promise<T> {
  try {
    return await body;
  } catch (e) {
    if (e instanceof SyntaxError || (e as Error).name === "AbortError") throw e;
    lost();
    throw new Lost();
  }
}

export async function post<T>(path: string, body: unknown, more?: Asked): Promise<T> {
  return finished((await answer(path, {}, { ...more, method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) })).json());
}
