// What can be scrolled sideways says so: it fades at the edge behind which there is more, also where scrollbars are hidden.

/** What may be wider than its place. */
const wide = "nav, .tools, .rows, .small, .result, .now";

/** Says of all of them on which side there is more. */
function look() {
  for (const e of document.querySelectorAll<HTMLElement>(wide)) {
    const most = e.scrollWidth - e.clientWidth, at = e.scrollLeft;
    const more = [...(most > 1 && at > 1 ? ["left"] : []), ...(most > 1 && at < most - 1 ? ["right"] : [])].join(" ");
    if ((e.dataset.more ?? "") === more) continue;
    if (more) e.dataset.more = more; else delete e.dataset.more;
  }
}

/** Looks again whenever something has changed, once for each picture that is drawn. */
export function watchEdges() {
  let asked = 0;
  const soon = () => { asked ||= requestAnimationFrame(() => { asked = 0; look(); }); };
  addEventListener("scroll", soon, true);
  addEventListener("resize", soon);
  new MutationObserver(soon).observe(document.body, { childList: true, subtree: true });
}
