// Names of functions in narrow columns: what tells functions apart is cut last.
import type { ComponentChildren } from "preact";

/** The characters of operators that are brackets elsewhere: operator <(Money, Money). */
const operator = /operator [!%&*+\-./<=>?@^|~$#:\\]+/y;

/** A function's name in three: its namespace and class, with the dot behind them, its own name, and what follows that, type parameters first. */
export function functionParts(name: string): [string, string, string] | undefined {
  let depth = 0, begin = 0, end = 0;
  for (let i = 0; i < name.length; i++) {
    operator.lastIndex = i;
    const found = operator.exec(name);
    if (found) { i += found[0].length - 1; continue; }
    const c = name[i];
    if (c === "(" && depth === 0) return begin ? [name.slice(0, begin), name.slice(begin, end || i), name.slice(end || i)] : undefined;
    if (c === "<" && depth === 0 && i > begin) end = i;
    if (c === "<" || c === "[" || c === "(") depth++;
    else if (c === ">" || c === "]" || c === ")") depth = Math.max(0, depth - 1);
    else if (c === "." && depth === 0 && i > 0 && name[i - 1] !== ".") { begin = i + 1; end = 0; }
  }
  return undefined;
}

const twist = 20; // pixels before a name that can be opened
const letter = 0.92; // of a digit's width: what names need in most fonts

/** A name that is cut in its parameters first, then in its namespace and class: the function's own name is seen however little room there is. */
export function functionName(name: string): ComponentChildren {
  const parts = functionParts(name);
  if (!parts) return undefined;
  const [of, own, rest] = parts;
  return <><span class="class" style={{ maxWidth: `calc(100% - ${Math.ceil(own.length * letter) + 1}ch - ${twist}px)` }}>{of}</span>{own}{rest}</>;
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
    kept.set(name, functionParts(name));
  }
  return kept.get(name);
}

/** As much of a name as has room: of a function's, its parameters are left out first, then its type parameters, then the end of its namespace and class, all of these, and its own end at last. The width of text is that of its letters. */
export function fittingName(name: string, room: number, letter: (of: string) => number): string {
  const width = (text: string) => { let w = 0; for (const c of text) w += letter(c); return w; };
  if (width(name) <= room) return name;
  const parts = keptParts(name);
  if (!parts) return beginning(name.replace(/(?<=.)\(.*$/, ""), room, letter);
  const [of, own, rest] = parts, generic = rest.startsWith("<") ? rest.slice(0, rest.lastIndexOf(">(") + 1) : "";
  for (const shorter of [of + own + generic, of + own]) if (width(shorter) <= room) return shorter;
  const begins = beginning(of, room - width(own), letter);
  return begins ? begins + own : beginning(own, room, letter);
}
