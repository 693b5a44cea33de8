// The whole of a name that is cut, beside the row that the keyboard is at: who points at it has its title.
import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";

type Seen = { text: string; left: number; top: number; above: boolean };
const whole = signal<Seen | undefined>(undefined);

/** What the keyboard is at: what has the focus, or the row that a table with the focus says. */
function target(): HTMLElement | null {
  const focused = document.activeElement as HTMLElement | null;
  const row = focused?.getAttribute("aria-activedescendant");
  const at = row ? document.getElementById(row)?.querySelector<HTMLElement>(".name") : focused?.closest<HTMLElement>(".cell");
  return at?.querySelector<HTMLElement>("[title]:not(.ends)") ?? null;
}

const isCut = (e: Element) => e.scrollWidth > e.clientWidth && getComputedStyle(e).overflowX === "hidden";

/** Shows the whole name of what the keyboard is at, if it is cut. */
export function showWhole() {
  const e = target(), cell = e?.closest(".cell");
  if (!e || !cell || ![cell, e, ...e.querySelectorAll("*")].some(isCut)) { whole.value = undefined; return; }
  const { left, top, bottom } = cell.getBoundingClientRect(), above = bottom > innerHeight * 0.7;
  whole.value = { text: e.title, left: Math.max(4, left), top: above ? innerHeight - top : bottom, above };
}

export function Whole() {
  useEffect(() => {
    const gone = () => { whole.value = undefined; };
    addEventListener("focusin", showWhole);
    addEventListener("focusout", gone);
    addEventListener("scroll", showWhole, true);
    addEventListener("resize", showWhole); // names may have room now
    return () => { removeEventListener("focusin", showWhole); removeEventListener("focusout", gone); removeEventListener("scroll", showWhole, true); removeEventListener("resize", showWhole); };
  }, []);
  const seen = whole.value;
  if (!seen) return null;
  return <div class="whole" aria-hidden="true" style={{ left: seen.left + "px", [seen.above ? "bottom" : "top"]: seen.top + 2 + "px" }}>{seen.text}</div>;
}
