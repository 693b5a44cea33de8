"use strict";
(() => {
  const base = document.currentScript.dataset.base;
  const input = document.getElementById("search");
  const found = document.getElementById("found");
  const most = 20; // results that one still looks through
  const around = 60; // characters before and behind the first word that is found

  // On narrow pages the list of documents begins closed: else the text is far below it.
  if (matchMedia("(max-width: 50rem)").matches) document.querySelector("nav .all").open = false;

  const entries = searchIndex.map((e) => ({ ...e, low: (e.h + " " + e.x).toLowerCase(), head: e.h.toLowerCase(), page: e.t.toLowerCase() }));

  function score(entry, words) {
    let sum = 0;
    for (const word of words) {
      if (!entry.low.includes(word) && !entry.page.includes(word)) return 0;
      sum += 1 + (entry.head.includes(word) ? 10 : 0) + (entry.page.includes(word) ? 3 : 0) + Math.min(entry.low.split(word).length - 1, 5);
    }
    return sum;
  }

  function marked(text, words) {
    const parts = document.createDocumentFragment();
    const low = text.toLowerCase();
    for (let at = 0; at < text.length; ) {
      let next = text.length, length = 0;
      for (const word of words) {
        const i = low.indexOf(word, at);
        if (i >= 0 && i < next) [next, length] = [i, word.length];
      }
      parts.append(text.slice(at, next));
      if (length > 0) {
        const mark = document.createElement("mark");
        mark.textContent = text.slice(next, next + length);
        parts.append(mark);
      }
      at = next + length;
    }
    return parts;
  }

  function excerpt(entry, words) {
    const at = Math.max(...words.map((w) => entry.x.toLowerCase().indexOf(w)), 0);
    const from = Math.max(0, at - around), to = Math.min(entry.x.length, at + 2 * around);
    return (from > 0 ? "…" : "") + entry.x.slice(from, to) + (to < entry.x.length ? "…" : "");
  }

  function show() {
    const words = input.value.toLowerCase().split(/\s+/).filter((w) => w.length > 0);
    found.replaceChildren();
    found.hidden = words.length === 0;
    if (found.hidden) return;
    const best = entries.map((e, i) => [score(e, words), i]).filter(([s]) => s > 0).sort((a, b) => b[0] - a[0] || a[1] - b[1]);
    for (const [, i] of best.slice(0, most)) {
      const entry = entries[i], link = document.createElement("a"), title = document.createElement("b"), small = document.createElement("small");
      link.href = base + entry.p;
      title.append(marked(entry.h === entry.t ? entry.t : entry.t + " › " + entry.h, words));
      small.append(marked(excerpt(entry, words), words));
      link.append(title, small);
      found.append(link);
    }
    if (best.length === 0 || best.length > most) {
      const note = document.createElement("p");
      note.textContent = best.length === 0 ? "Nothing has all of these words." : `${best.length - most} more: add a word.`;
      found.append(note);
    }
  }

  input.addEventListener("input", show);
  document.addEventListener("keydown", (e) => {
    if (e.key === "/" && document.activeElement !== input) {
      e.preventDefault();
      input.focus();
    } else if (e.key === "Escape") {
      input.value = "";
      show();
    } else if ((e.key === "ArrowDown" || e.key === "ArrowUp") && !found.hidden) {
      const links = [input, ...found.querySelectorAll("a")], at = links.indexOf(document.activeElement);
      const next = links[at + (e.key === "ArrowDown" ? 1 : -1)];
      if (next) { e.preventDefault(); next.focus(); }
    } else if (e.key === "Enter" && document.activeElement === input) {
      const first = found.querySelector("a");
      if (first) location.href = first.href;
    }
  });
})();
