// The rows of a tree of which only parts are here: pages of rows with the same caller come when they are in sight. What is in sight is
// found by way of the rows that are open, so that a hundred thousand closed ones beside them cost nothing.
import type { Row, Sheet } from "./api";

/** How many rows with one caller the server sends at a time. */
export const page = 200;

/** A row of a tree; above all is one without a row. */
export type Node = {
  row?: Row; level: number; above?: Node; index: number; open: boolean; hot?: boolean;
  /** How many rows there are below it, without those below these; undefined: nobody has asked yet. */
  count?: number;
  /** Those that have come, by index. */
  below: Map<number, Node>;
  /** Those of them that are open, in their order. */
  opened: Node[];
  /** How many rows its open state shows: all below it that no closed row hides. */
  shown: number;
};

export const top = (): Node => ({ level: -1, index: 0, open: true, below: new Map(), opened: [], shown: 0 });

export const id = (n: Node) => n.row!.process + "." + n.row!.path;

/** Takes a page of the rows below a node. */
export function take(n: Node, sheet: Sheet) {
  const first = n.count === undefined;
  n.count = sheet.total;
  sheet.rows.forEach((row, i) => {
    const index = sheet.offset + i;
    if (!n.below.has(index)) n.below.set(index, { row, level: n.level + 1, above: n, index, open: false, count: row.leaf ? 0 : undefined, below: new Map(), opened: [], shown: 0 });
  });
  if (first && n.open) grow(n, sheet.total);
}

/** Has a node and all open ones above it show so many rows more. */
function grow(n: Node | undefined, by: number) {
  for (; n; n = n.above) {
    n.shown += by;
    if (!n.open) return;
  }
}

/** Opens or closes a node whose rows are known. */
export function turn(n: Node, open: boolean) {
  if (n.open === open || !n.above) return;
  const list = n.above.opened, at = list.findIndex((o) => o.index >= n.index);
  n.shown = (n.count ?? 0) + n.opened.reduce((sum, o) => sum + o.shown, 0);
  if (open) list.splice(at < 0 ? list.length : at, 0, n); else list.splice(at, 1);
  n.open = open;
  grow(n.above, open ? n.shown : -n.shown);
}

/** The node above the row at a position of all that are shown, and its index there. */
export function at(root: Node, position: number): { above: Node; index: number } {
  for (let above = root, i = position; ;) {
    let inside: Node | undefined, passed = 0; // rows below open ones before it
    for (const o of above.opened) {
      const start = o.index + passed;
      if (i <= start) break;
      if (i <= start + o.shown) { i -= start + 1; inside = o; break; }
      passed += o.shown;
    }
    if (!inside) return { above, index: i - passed };
    above = inside;
  }
}

/** The node at a position, if its page has come. */
export function nodeAt(root: Node, position: number): Node | undefined {
  const { above, index } = at(root, position);
  return above.below.get(index);
}

/** The position of a node whose callers are all open. */
export function positionOf(n: Node): number {
  let position = -1;
  for (let up: Node | undefined = n; up?.above; up = up.above) {
    position += up.index + 1;
    for (const o of up.above.opened) if (o.index < up.index) position += o.shown;
  }
  return position;
}
