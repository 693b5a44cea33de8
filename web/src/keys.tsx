// The keys of the page, in one table, which the overlay shows.
import { signal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { back, change, param, toggleMyCode, undo, viewAddress, visit } from "./state";

export const help = signal(false);

const focus = (id: string) => { const e = document.getElementById(id); e?.focus(); (e as HTMLInputElement | null)?.select?.(); };
const tell = (name: string) => dispatchEvent(new Event(name));
const to = (view: string) => () => visit(viewAddress(view));

/** Closes what is unfolded over the page, and says whether anything was. */
function folded(): boolean {
  const open = document.querySelector<HTMLDetailsElement>(":is(.chooser, .numbers)[open]");
  if (open) { open.open = false; open.querySelector("summary")?.focus(); }
  return !!open;
}

export const keys: { key: string; what: string; run: () => void }[] = [
  { key: "?", what: "show or hide these keys", run: () => { if (help.value) document.querySelector("dialog")?.close(); else help.value = true; } },
  { key: "/", what: "search", run: () => focus("find") },
  { key: "1", what: "overview", run: to("overview") },
  { key: "2", what: "flame graph", run: to("flame") },
  { key: "3", what: "call tree", run: to("calltree") },
  { key: "4", what: "functions", run: to("functions") },
  { key: "5", what: "types", run: to("types") },
  { key: "6", what: "lines", run: to("lines") },
  { key: "7", what: "lifetime", run: to("lifetime") },
  { key: "8", what: "collections", run: to("gcs") },
  { key: "9", what: "SQL", run: to("sql") },
  { key: "n", what: "next match (flame graph)", run: () => tell("nextmatch") },
  { key: "N", what: "previous match (flame graph)", run: () => tell("previousmatch") },
  { key: "i", what: "flame graph: bottom-up", run: () => param("view") === "flame" && change({ up: param("up") ? "" : "1", at: "" }) },
  { key: "h", what: "call tree: open the hot path", run: () => tell("hotpath") },
  { key: "m", what: "flame graph: choose the metric", run: () => focus("metric") },
  { key: "+", what: "flame graph: zoom in (also w)", run: () => tell("zoomin") },
  { key: "-", what: "flame graph: zoom out (also s)", run: () => tell("zoomout") },
  { key: "a", what: "flame graph: to the left", run: () => tell("panleft") },
  { key: "d", what: "flame graph: to the right", run: () => tell("panright") },
  { key: "0", what: "flame graph: all of it", run: () => change({ at: "" }) },
  { key: "c", what: "call tree, flame graph: copy the stack", run: () => tell("copystack") },
  { key: "r", what: "call tree: begin with the chosen function", run: () => tell("roothere") },
  { key: "j", what: "just my code, or all of it", run: toggleMyCode },
  { key: "u", what: "undo the last change of the filters", run: undo },
  { key: "Escape", what: "close what is open, or one step back", run: () => { if (!folded()) back(); } },
];

const other: Record<string, string> = { w: "+", s: "-", "=": "+" };

export function useKeys() {
  useEffect(() => {
    const on = (e: KeyboardEvent) => {
      const t = e.target as HTMLElement;
      if (e.ctrlKey || e.metaKey || e.altKey) return;
      // The keys are those of the dialog; it is closed before its event of that comes.
      if (help.value && document.querySelector("dialog")?.open && e.key !== "?") return;
      if (/^(INPUT|TEXTAREA|SELECT)$/.test(t.tagName)) {
        if (e.key === "Escape" && !folded()) t.blur();
        return;
      }
      const found = keys.find((k) => k.key === (other[e.key] ?? e.key));
      if (found) { e.preventDefault(); found.run(); }
    };
    addEventListener("keydown", on);
    return () => removeEventListener("keydown", on);
  }, []);
}

export function Help() {
  const box = useRef<HTMLDialogElement>(null), isOpen = help.value;
  // With the focus in it, which goes back when it is closed; before another key can come, which would be the page's.
  useLayoutEffect(() => { if (isOpen) box.current?.showModal(); }, [isOpen]);
  if (!isOpen) return null;
  const close = () => { help.value = false; };
  return <dialog class="overlay" ref={box} aria-label="Keys" onClose={close} onClick={() => box.current?.close()}>
    <div><h2>Keys</h2><dl>{keys.map((k) => <div key={k.key}><dt><kbd>{k.key}</kbd></dt><dd>{k.what}</dd></div>)}</dl>
      <p>In tables and trees arrows move, → and ← open and close, Enter follows; Shift with ← or → on the head of a column moves it.</p>
      <form method="dialog"><button>Close</button></form></div>
  </dialog>;
}
