// Whether clrprof answers. If it has gone, the page says so and looks for it once a second; it goes on when the same session is back.
import { signal } from "@preact/signals";
import { isFile } from "./offline";

/** What is at the other end: this session, nothing, something that does not know this browser, or another session. */
export const link = signal<"there" | "gone" | "stranger" | "other">("there");
/** How often it has come back. What was asked for in vain is asked for again. */
export const comebacks = signal(0);
/** The session that the page shows, and its identity: none as long as it is recorded. */
export const shown = signal<{ path: string; id: string } | undefined>(undefined);

/** clrprof did not answer. */
export class Lost extends Error {
  constructor() { super("clrprof does not answer."); }
}

let looking = 0;
const between = 1000;

export function lost() {
  if (isFile || looking) return;
  if (link.value === "there") link.value = "gone";
  looking = window.setTimeout(look, between);
}

async function look() {
  let found: typeof link.value = "gone", finished = false;
  try {
    const r = await fetch("/api/session");
    if (r.ok) {
      const s = await r.json();
      found = !shown.value || s.path === shown.value.path && (!shown.value.id || s.id === shown.value.id) ? "there" : "other";
      finished = true;
    } else found = "stranger";
  } catch { /* it has gone */ }
  looking = 0;
  link.value = found;
  if (found === "there") comebacks.value++;
  else if (!finished) lost();
}
