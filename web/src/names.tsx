// Names of functions and types in narrow columns: what tells them apart is cut last.
import type { ComponentChildren } from "preact";

/** The characters of operators that are brackets elsewhere: operator <(Money, Money). */
const operator = /operator [!%&*+\-./<=>?@^|~$#:\\]+/y;

/** The line behind the name of a lambda, which nobody knows by its number. */
const lineBehind = /(?<=<lambda #.*) \S+:\d+$/;

/** The name of a function or a type in three: its namespace and class, with the dot behind them, its own name, and what follows that, the line of a lambda and type parameters first. Undefined: it has neither namespace nor class. */
export function nameParts(whole: string): [string, string, string] | undefined {
  const line = lineBehind.exec(whole)?.[0] ?? "", name = whole.slice(0, whole.length - line.length);
  let depth = 0, begin = 0, end = 0;
  for (let i = 0; i < name.length; i++) {
    operator.lastIndex = i;
    const found = operator.exec(name);
    if (found) { i += found[0].length - 1; continue; }
    const c = name[i];
    if (c === "(" && depth === 0) { end ||= i; break; }
    if (c === "<" && depth === 0 && i > begin) end = i;
    if (c === "<" || c === "[" || c === "(") depth++;
    else if (c === ">" || c === "]" || c === ")") depth = Math.max(0, depth - 1);
    else if (c === "." && depth === 0 && i > 0 && name[i - 1] !== ".") { begin = i + 1; end = 0; }
  }
  end ||= name.length;
  return begin ? [name.slice(0, begin), name.slice(begin, end), line + name.slice(end)] : undefined;
}

const twist = 20; // pixels before a name that can be opened
const letter = 0.92; // of a digit's width: what names need in most fonts

/** A name that is cut in its parameters first, then at the front, in its namespace and class: its own end is seen however little room there is. */
export function shownName(name: string): ComponentChildren {
  const parts = nameParts(name);
  if (!parts) return undefined;
  const [of, own, rest] = parts, seen = own.length + (lineBehind.exec(name)?.[0].length ?? 0);
  return <><span class="class" style={{ maxWidth: `calc(100% - ${Math.ceil(seen * letter) + 1}ch - ${twist}px)` }}><bdi dir="ltr">{of}</bdi></span>{own}{rest}</>;
}

/** The beginning of a name for which there is room, of text that is so wide; "": there is none for a letter. */
function beginning(name: string, room: number, width: (text: string) => number): string {
  let wide = 0, fits = 0;
  const dots = width("…");
  for (const c of name) {
    wide += width(c);
    if (wide > room) return fits ? name.slice(0, fits) + "…" : "";
    if (wide + dots <= room) fits += c.length;
  }
  return name;
}

const mostKept = 5000;
const kept = new Map<string, [string, string, string] | undefined>(); // parts of names that had no room
function keptParts(name: string): [string, string, string] | undefined {
  if (!kept.has(name)) {
    if (kept.size > mostKept) kept.clear();
    kept.set(name, nameParts(name));
  }
  return kept.get(name);
}

/** The end of a name for which there is room; "": there is none for more than the dot at its end. */
function ending(name: string, room: number, width: (text: string) => number): string {
  const letters = [...name];
  let wide = width("…"), begin = letters.length;
  while (begin > 0 && wide + width(letters[begin - 1]) <= room) wide += width(letters[--begin]);
  return begin === 0 ? name : begin < letters.length - 1 ? "…" + letters.slice(begin).join("") : "";
}

/** As much of a name as has room: of a function's, its parameters are left out first, then its type parameters, then the front of its namespace and class, all of these, and its own end at last. The width of text is that of its letters. */
export function fittingName(name: string, room: number, letter: (of: string) => number): string {
  const width = (text: string) => { let w = 0; for (const c of text) w += letter(c); return w; };
  if (width(name) <= room) return name;
  const parts = keptParts(name);
  if (!parts) return beginning(name.replace(/(?<=.)\(.*$/, ""), room, letter);
  const [of, own, rest] = parts, line = lineBehind.exec(name)?.[0];
  const next = line ?? (rest.startsWith("<") ? rest.slice(0, rest.lastIndexOf(">(") + 1) : "");
  for (const shorter of [of + own + next, of + own]) if (width(shorter) <= room) return shorter;
  const end = ending(of, room - width(own), letter);
  return end ? end + own : beginning(own, room, letter);
}
