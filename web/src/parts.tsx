// Small parts that several views use.
import { signal } from "@preact/signals";
import { Component } from "preact";
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { getText } from "./api";
import { selection } from "./state";

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

/** Loads something whenever the key or the selection changes; the old value stays until the new one is there. */
export function useLoad<T>(key: string, load: () => Promise<T>): Loaded<T> & { loading: boolean } {
  const [state, set] = useState<Loaded<T> & { of: string }>({ of: "" });
  const all = selection.value + "|" + key;
  useEffect(() => {
    let current = true;
    load().then((value) => current && set({ value, of: all }), (e: Error) => current && set({ error: e.message, of: all }));
    return () => { current = false; };
  }, [all]);
  return { ...state, loading: state.of !== all };
}

export function Failed({ error }: { error: string }) { return <p class="failed" role="alert">{error}</p>; }

export function Waiting() { return <p class="waiting" role="status">Reading…</p>; }

export function Sentences({ list, kind }: { list: string[]; kind: string }) {
  if (!list.length) return null;
  return <ul class={"sentences " + kind}>{list.map((s) => <li key={s}>{s}</li>)}</ul>;
}

/** The same on the command line. */
export function Command({ text }: { text?: string }) {
  if (!text) return null;
  return <div class="command">
    <span>The same on the command line</span><code>{text}</code>
    <button type="button" onClick={() => copy(text, "Command")}>Copy</button>
  </div>;
}

/** Shows what went wrong in a part of the page instead of nothing at all. */
export class Guard extends Component<{ children: ComponentChildren }, { error?: string }> {
  static getDerivedStateFromError(e: Error) { return { error: e.message }; }
  render() { return this.state.error ? <Failed error={"The page made a mistake: " + this.state.error} /> : this.props.children; }
}

/** The part of a name that says most: a function without the types of its parameters. */
export function stem(name: string): string { return name.replace(/\(.*$/, ""); }
