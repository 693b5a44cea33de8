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
