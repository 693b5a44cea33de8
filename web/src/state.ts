// The address of the page is its state: what is shown, of which part of the session. Names are those of the command line.
import { computed, signal } from "@preact/signals";

/** Flags that say which part of the session is shown; every view follows them. */
export const selectionFlags = ["time", "gc", "mark", "filter", "process", "thread", "module", "namespace", "function", "type", "focus", "hide", "my-code", "my-code-callees", "my-code-callers"];
/** The one that has no value, and how many levels of framework code it shows: unless it says so, those that are given here. */
const myCode = "my-code";
export const codeLevels = { "my-code-callees": 1, "my-code-callers": 0 } as const;
export type CodeLevel = keyof typeof codeLevels;

/** What is kept in the browser from one session to the next: in a cookie too, as those are of a machine whatever the port, which is
 * another one each time. */
function kept(name: string): string | null {
  return new RegExp(`(?:^|; )clrprof_${name}=([^;]*)`).exec(document.cookie)?.[1] ?? localStorage.getItem(name);
}

function keep(name: string, value: string) {
  localStorage.setItem(name, value);
  if (location.protocol !== "file:") document.cookie = `clrprof_${name}=${value}; path=/; max-age=31536000; samesite=strict`;
}

/** How numbers are written. What differs from the usual is in the address, so that who follows a link sees the same, and is kept in the
 * browser for addresses that say nothing of it. */
export const unitFlags = ["unit", "bytes", "percent"] as const;
export type UnitFlag = typeof unitFlags[number];
const keptUnits = new URLSearchParams(kept("units") ?? "");

/** An address with what is kept in the browser. */
function withUnits(search: string): URLSearchParams {
  const out = new URLSearchParams(search);
  for (const flag of unitFlags) if (!out.has(flag) && keptUnits.get(flag)) out.set(flag, keptUnits.get(flag)!);
  return out;
}

/** The state of an address that the browser went to by itself. */
function entered(): URLSearchParams {
  const out = withUnits(location.search);
  if ("?" + out !== location.search && out.size > new URLSearchParams(location.search).size) history.replaceState(history.state, "", "?" + out);
  return out;
}

const address = signal(entered());
addEventListener("popstate", () => { address.value = entered(); });

/** Writes numbers in another way from now on; "" is the usual one. */
export function setUnit(flag: UnitFlag, value: string) {
  if (value) keptUnits.set(flag, value); else keptUnits.delete(flag);
  keep("units", keptUnits.toString());
  change({ [flag]: value }, true);
}

export const view = computed(() => address.value.get("view") ?? "overview");

export function param(name: string): string { return address.value.get(name) ?? ""; }

/** The session has async methods, of which a view shows the stacks as they were or what called them in the code. */
export const hasAsync = signal(false);

/** The graph has async methods below their callers, as the call tree, but not where only stacks as they were have what is asked for. */
export function logicalFlame(): boolean {
  return hasAsync.value && (param("diff") ? param("async") === "logical" : param("async") !== "physical" && !param("color"));
}

/** How a function that is linked from here is to be shown: as the view does that it is linked from. */
export function asyncHere(): string | undefined {
  if (!hasAsync.value) return undefined;
  switch (view.value) {
    case "overview": return "logical"; // its hot paths are
    case "calltree": return param("async") ? undefined : "logical";
    case "flame": return logicalFlame() ? "logical" : undefined;
    case "callers": case "function": return param("async") || undefined;
  }
  return undefined;
}

export function params(): URLSearchParams { return address.value; }

/** The selection alone, as parameters of a request. */
export const selection = computed(() => {
  const out = new URLSearchParams();
  for (const flag of selectionFlags) for (const value of address.value.getAll(flag)) out.append(flag, value);
  return out.toString();
});

type Changes = Record<string, string | undefined>;

/** The address after changes; an empty value removes a parameter. */
export function changed(changes: Changes): string {
  const next = new URLSearchParams(address.value);
  for (const [name, value] of Object.entries(changes)) {
    if (value) next.set(name, value); else next.delete(name);
  }
  return "?" + next;
}

/** The address of another view with the selection kept. */
export function viewAddress(name: string, more: Changes = {}): string {
  const next = new URLSearchParams({ view: name });
  for (const flag of unitFlags) if (param(flag)) next.set(flag, param(flag));
  for (const [key, value] of new URLSearchParams(selection.value)) next.append(key, value);
  for (const [key, value] of Object.entries(more)) {
    if (value) next.set(key, value); else if (value === "") next.delete(key);
  }
  return "?" + next;
}

const step = () => Number(history.state?.step ?? 0);

/** Goes one step back, within the page. */
export function back() { if (step() > 0) history.back(); }

/** Goes to an address; replace is for what nobody would undo. */
export function visit(to: string, replace = false) {
  const next = withUnits(to);
  to = "?" + next;
  if (to === "?" + address.value) return;
  history[replace ? "replaceState" : "pushState"]({ step: step() + (replace ? 0 : 1) }, "", to);
  address.value = next;
}

export function change(changes: Changes, replace = false) { visit(changed(changes), replace); }

/** Earlier selections, the last one to be gone back to first. */
export const earlier = signal<string[]>([]);
const mostEarlier = 50; // more steps nobody remembers

/** Goes to an address with another selection, which can be undone in any view. */
function select(next: URLSearchParams) {
  const before = selection.value;
  next.delete("at");
  visit("?" + next);
  if (selection.value !== before) earlier.value = [...earlier.value, before].slice(-mostEarlier);
}

/** Takes back the last change of the filters, in whatever view. */
export function undo() {
  const list = earlier.value;
  if (!list.length) return;
  const next = new URLSearchParams(address.value);
  for (const flag of selectionFlags) next.delete(flag);
  for (const [flag, value] of new URLSearchParams(list[list.length - 1])) next.append(flag, value);
  next.delete("at");
  visit("?" + next);
  earlier.value = list.slice(0, -1);
}

/** Removes one value of a selection flag, adds one, or removes all. */
export function removeTerm(flag: string, value: string) {
  const next = new URLSearchParams(address.value);
  const rest = next.getAll(flag).filter((v) => v !== value);
  next.delete(flag);
  for (const v of rest) next.append(flag, v);
  select(next);
}

/** Flags that say which part of the run is shown: one of them does. */
export const spans = ["time", "gc", "mark"];

export function addTerm(flag: string, value: string) {
  const next = new URLSearchParams(address.value);
  if (spans.includes(flag)) for (const span of spans) next.delete(span);
  if (flag === "filter") next.delete(flag);
  remember(flag, value);
  if (!next.getAll(flag).includes(value)) next.append(flag, value);
  select(next);
}

/** Filters of a kind that were used before, in any session: the last one first. */
export function used(flag: string): string[] {
  try { return JSON.parse(localStorage.getItem("filters." + flag) ?? "[]"); } catch { return []; }
}

const mostUsed = 20; // a list to choose from, not a history

function remember(flag: string, value: string) {
  if (flag === "time" || flag === "gc") return; // of one session
  localStorage.setItem("filters." + flag, JSON.stringify([value, ...used(flag).filter((v) => v !== value)].slice(0, mostUsed)));
}

/** Whether stacks are shown with your code and what it calls alone. */
export const isMyCode = () => param(myCode) !== "";
export function toggleMyCode() {
  const next = new URLSearchParams(address.value);
  if (isMyCode()) for (const flag of [myCode, ...Object.keys(codeLevels)]) next.delete(flag); else next.set(myCode, "1");
  select(next);
}

/** Shows so many levels of framework code around your code. */
export function setCodeLevel(flag: CodeLevel, levels: string) {
  const next = new URLSearchParams(address.value);
  if (!levels || Number(levels) === codeLevels[flag]) next.delete(flag); else next.set(flag, levels);
  select(next);
}

/** Follows a link within the page instead of loading it anew. */
export function follow(e: MouseEvent) {
  if (e.defaultPrevented || e.button !== 0 || e.metaKey || e.ctrlKey || e.shiftKey) return;
  const link = (e.target as Element).closest?.("a");
  const to = link?.getAttribute("href");
  if (!to?.startsWith("?")) return;
  e.preventDefault();
  visit(to);
  document.getElementById("content")?.focus({ preventScroll: true });
}

export const theme = signal(kept("theme") ?? "auto");
export function setTheme(value: string) {
  keep("theme", value);
  theme.value = value;
  document.documentElement.dataset.theme = value;
}
document.documentElement.dataset.theme = theme.value;

/** Views whose title is not their name. */
const titles: Record<string, string> = { flame: "Flame graph", calltree: "Call tree", compare: "Comparison", callers: "Callers, callees", function: "One function", ips: "Instructions", gcs: "Collections",
  "diff-gcs": "Between collections", header: "Session", sql: "SQL" };
export const titleOf = (view: string) => titles[view] ?? view[0].toUpperCase() + view.slice(1);
