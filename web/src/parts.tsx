// Small parts that several views use.
import { signal } from "@preact/signals";
import { Component } from "preact";
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { getText } from "./api";
import type { Load, Loading } from "./api";
import { comebacks, link, Lost, shown } from "./link";
import { selection } from "./state";
import { formatBytes, timeUnit } from "./units";

/** What was said last to the user, such as "copied". */
export const said = signal("");
let timer = 0;
export function say(text: string) {
  said.value = text;
  clearTimeout(timer);
  timer = window.setTimeout(() => { said.value = ""; }, 4000);
}

export async function copy(text: string, what: string) {
  try {
    await navigator.clipboard.writeText(text);
    say(what + " copied");
  } catch {
    say("The browser does not let this page copy.");
  }
}

export async function copyView(query: Record<string, string | undefined>) {
  try {
    await copy(await getText("tsv", query), "Table (TSV)");
  } catch (e) {
    say((e as Error).message);
  }
}

export type Loaded<T> = { value?: T; error?: string };
/** How much of an answer has come; of is 0 if nobody knows. */
export type Got = { got: number; of: number };

type Loads<T> = Loaded<T> & { loading: boolean; got?: Got };

export function useLoad<T>(key: string, load: (more: Load) => Promise<T>): Loads<T> { return useParts<T>(key, load); }

/** Loads something whenever the key or the selection changes, and again when clrprof is back. The old value stays until the new one is
 * there: what is drawn of it must be its own, not what the address says by now, so values carry what they were asked for with. An
 * error stays no longer than what it is about. What is not wanted any more is given up. */
export function useParts<T>(key: string, load: (more: Loading<T>) => Promise<T>): Loads<T> & { partial: boolean } {
  const [state, set] = useState<Loaded<T> & { of: string; partial: boolean }>({ of: "", partial: false });
  const [got, setGot] = useState<Got & { all: string } | undefined>();
  const chosen = selection.value, all = chosen + "|" + key;
  useEffect(() => {
    const stop = new AbortController();
    const { signal } = stop;
    const show = (partial: boolean) => (value: T) => { if (!signal.aborted) set({ value, of: all, partial }); };
    load({ signal, selection: chosen, progress: (got, of) => { if (!signal.aborted) setGot({ got, of, all }); }, first: show(true) }).then(show(false),
      (e: Error) => { if (!signal.aborted) set((old) => e instanceof Lost && old.value !== undefined ? old : { error: e.message, of: all, partial: false }); });
    return () => stop.abort();
  }, [all, comebacks.value]);
  const isOf = state.of === all;
  return { value: state.value, partial: state.partial, error: isOf ? state.error : undefined, got: got?.all === all ? got : undefined, loading: !isOf };
}

export function Failed({ error }: { error: string }) { return <p class="failed" role="alert">{error}</p>; }

export function Waiting({ got }: { got?: Got }) {
  return <p class="waiting" role="status">{got ? `Reading… ${formatBytes(got.got)}${got.of ? " of " + formatBytes(got.of) : ""}` : "Reading…"}</p>;
}

/** What to do when clrprof has gone, or is another one. */
export function Gone() {
  const of = shown.value;
  switch (link.value) {
    case "there": return null;
    case "other": return <p class="failed" role="alert">Another session is served here now. This page still shows {of?.path.split("/").pop()}. <a href={location.pathname}>Show the other one</a></p>;
    case "stranger": return <p class="failed" role="alert">clrprof was started again. Open the address that it printed; then this page continues.</p>;
  }
  const path = of?.path ?? "SESSION";
  return <p class="failed" role="alert">clrprof does not answer: it was ended, or its machine cannot be reached. What is shown stays. Start it again, and open the address that it prints; this page goes on then:
    <code>clrprof view {/^[\w./-]+$/.test(path) ? path : "'" + path.replaceAll("'", "'\\''") + "'"} --listen {location.host}</code></p>;
}

/** What a file cannot show of the call tree, as its rows are those that were put into it. */
export function ShapeOfFile({ has }: { has: string }) {
  return <p class="hint file">This file holds {has}. Recursion folded, small rows left out, a tree that begins with a function, and filters need the session itself: <code>clrprof view {shown.value?.path.split("/").pop() ?? "SESSION"}</code></p>;
}

export function Sentences({ list, kind }: { list: string[]; kind: string }) {
  if (!list.length) return null;
  return <ul class={"sentences " + kind}>{list.map((s) => <li key={s}>{s}</li>)}</ul>;
}

/** The same on the command line. Part says that the page shows some of the rows, or another order, which no flag is for. */
export function Command({ text, part }: { text?: string; part?: boolean }) {
  if (!text) return null;
  if (timeUnit() && text.startsWith("clrprof report ")) text += " --unit " + timeUnit();
  return <div class="command">
    <span>{part ? "All rows on the command line" : "The same on the command line"}</span><code>{text}</code>
    <button type="button" onClick={() => copy(text, "Command")}>Copy</button>
  </div>;
}

/** Tools that are needed less often: on a phone a button shows them. */
export function Folded({ children }: { children: ComponentChildren }) {
  const [isOpen, open] = useState(false);
  return <><button type="button" class="unfold" aria-expanded={isOpen} onClick={() => open(!isOpen)}>{isOpen ? "Less" : "More"}</button><span class={"folded" + (isOpen ? " open" : "")}>{children}</span></>;
}

/** Shows what went wrong in a part of the page instead of nothing at all. */
export class Guard extends Component<{ children: ComponentChildren }, { error?: string }> {
  static getDerivedStateFromError(e: Error) { return { error: e.message }; }
  render() { return this.state.error ? <Failed error={"This page has a bug: " + this.state.error} /> : this.props.children; }
}
