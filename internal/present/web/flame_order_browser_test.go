package web_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	q "github.com/clrprof/clrprof/internal/quantity"
	"github.com/clrprof/clrprof/internal/testkit/sessiontest"
)

// shuffled makes call trees that are made up and compares them in both orders: as many frames with the same paths and
// values, those of one caller in the order of their names with what stands for others last; and what is drawn of them
// covers what there is, but for frames that are not a pixel wide, which are in blocks. It returns what is wrong.
const shuffled = `(() => {
	const {decode, byName, walk, hit, pathOf, find, hiddenName} = tested, wrong = [];
	let seed = 7;
	const random = n => { seed = (Math.imul(seed, 1103515245) + 12345) >>> 0; return (seed >>> 8) % n; };
	const made = (size, wide) => {
		const depth = [], name = [], value = [], names = Array.from({length: 40}, (_, i) => "f" + String((i * 17) % 40).padStart(2, "0"));
		const add = (d, most) => { // returns what it has
			const at = depth.length;
			depth.push(d); name.push(random(40)); value.push(0);
			let sum = 1 + random(5), kids = d === 0 ? wide : random(d > 6 ? 1 : 4);
			const below = [];
			for (let k = 0; k < kids && depth.length < size; k++) { const from = depth.length; sum += add(d + 1); below.push(from); }
			if (kids > 2 && random(2)) { depth.push(d + 1); name.push(hiddenName); value.push(3); sum += 3; }
			value[at] = sum;
			return sum;
		};
		add(0);
		const n = depth.length, head = new TextEncoder().encode(JSON.stringify({sent: n, frames: n, metric: {kind: "bytes"}, full: names, short: names, modules: [], module: [], colors: null}));
		const start = Math.ceil((4 + head.length) / 8) * 8, b = new ArrayBuffer(start + 18 * n);
		new Uint8Array(b).fill(32, 0, start); new Uint8Array(b).set(head, 4); new DataView(b).setUint32(0, start - 4, true);
		new Float64Array(b, start, n).set(value); new Uint32Array(b, start + 8 * n, n).set(name);
		new Uint16Array(b, start + 16 * n, n).set(depth);
		return decode(b);
	};
	const paths = f => { const out = []; for (let i = 0; i < f.count; i++) out.push(pathOf(f, i) + " " + f.value[i] + " " + f.own[i]); return out.sort().join(); };
	for (const [size, wide] of [[1, 0], [20, 3], [400, 5], [3000, 200], [20000, 4000]]) {
		const f = made(size, wide), g = byName(f);
		if (paths(f) !== paths(g)) wrong.push(size + ": other frames");
		let last = new Map();
		for (let i = 0; i < g.count; i++) {
			const key = g.name[i] === hiddenName ? "~" : g.full[g.name[i]], p = g.parent[i];
			if ((last.get(p) ?? "") > key) wrong.push(size + ": " + last.get(p) + " before " + key);
			last.set(p, key);
			if (find(g, pathOf(g, i)) < 0) wrong.push(size + ": a frame is not found");
		}
		for (const [from, to] of [[0, g.total], [g.total / 3, g.total / 2], [g.total * 0.7, g.total * 0.701]]) {
			const width = 500, s = walk(g, from, to, width, 400, 0, 10, 1), scale = width / (to - from);
			const covered = []; // pixels by row
			for (let k = 0; k < s.boxes.length; k += 4) covered.push([s.boxes[k + 2] / 10, s.boxes[k + 1], s.boxes[k + 1] + s.boxes[k + 3]]);
			for (let k = 0; k < s.merged.length; k += 3) covered.push([s.merged[k + 1] / 10, s.merged[k], s.merged[k] + s.merged[k + 2]]);
			const rows = new Map();
			for (const [d, a, b] of covered.sort((x, y) => x[0] - y[0] || x[1] - y[1])) { const list = rows.get(d) ?? []; rows.set(d, list); list.push([a, b]); }
			for (let i = 0; i < g.count; i++) { // each frame in sight, or the narrow one above it, is in a box or block
				let k = i;
				while (g.parent[k] >= 0 && g.value[g.parent[k]] * scale < 1) k = g.parent[k];
				const middle = (g.left[k] + g.value[k] / 2 - from) * scale;
				if (middle <= 0 || middle >= width) continue;
				if (!(rows.get(g.depth[k]) ?? []).some(([a, b]) => a - 1e-6 <= middle && middle <= b + 1e-6)) wrong.push(size + ": frame " + k + " is not drawn");
				const at = hit(g, g.left[i] + g.value[i] / 2, g.depth[i]);
				if (at !== i) wrong.push(size + ": at frame " + i + " is " + at);
			}
			for (const list of rows.values()) for (let k = 1; k < list.length; k++) if (list[k][0] < list[k - 1][1] - 1e-6) wrong.push(size + ": boxes lie over each other");
		}
	}
	return wrong.slice(0, 10);
})()`

// narrow is how many frames are looked at for a picture of a million frames with one caller, by name.
const narrow = `(() => {
	const {decode, byName, walk} = tested, n = 1000001, head = new TextEncoder().encode(JSON.stringify({sent: n, frames: n, metric: {kind: "bytes"},
		full: ["a", "b", "c"], short: ["a", "b", "c"], modules: [], module: [], colors: null}));
	const start = Math.ceil((4 + head.length) / 8) * 8, b = new ArrayBuffer(start + 18 * n);
	new Uint8Array(b).fill(32, 0, start); new Uint8Array(b).set(head, 4); new DataView(b).setUint32(0, start - 4, true);
	const value = new Float64Array(b, start, n).fill(1), name = new Uint32Array(b, start + 8 * n, n), depth = new Uint16Array(b, start + 16 * n, n).fill(1);
	value[0] = n; depth[0] = 0;
	for (let i = 1; i < n; i++) name[i] = i % 3;
	const f = decode(b), began = performance.now(), g = byName(f), took = performance.now() - began;
	return [walk(g, 0, n, 1280, 600, 0, 19, 1).visited, took];
})()`

// TestFlameOrder: frames by name are the frames by value in another order, and no more of them are looked at than there
// are pixels.
func TestFlameOrder(t *testing.T) {
	p := open(t, sessiontest.Shop())
	p.loads("walk.ts")
	if wrong := eval[[]string](p, shuffled); len(wrong) > 0 {
		t.Error(strings.Join(wrong, "\n"))
	}
	got := eval[[]float64](p, narrow)
	t.Logf("of a million frames %.0f are looked at; they are sorted in %.0f ms", got[0], got[1])
	if got[0] > 2600 {
		t.Errorf("%.0f frames are looked at for 1,280 pixels", got[0])
	}
}

// TestFlameByName: the graph by name has the functions called by one in the order of their names, and keeps what is
// zoomed to and chosen; a link to it has it.
func TestFlameByName(t *testing.T) {
	b := sessiontest.New()
	process := b.Process("letters", 7)
	module := b.Module(process, "letters.dll", true)
	thread, typ := b.Thread(process, "main"), b.Type(module, "Note")
	entry := sessiontest.Frame{Function: b.Function(module, "Letters.Main()", "/src/letters.cs", 1), Line: 2}
	for i, name := range []string{"Letters.Delta()", "Letters.Alpha()", "Letters.Echo()", "Letters.Bravo()"} {
		b.Allocate(1, thread, typ, 1, q.Bytes(1000-100*i), entry,
			sessiontest.Frame{Function: b.Function(module, name, "/src/letters.cs", 10), Line: 11})
	}
	p := open(t, b)
	siblings := func() (out []string) { // of Main, from left to right
		p.t.Helper()
		p.do(chromedp.Focus("canvas"))
		for _, key := range []string{"\u0304", "\u0304", "\u0304", "\u0304", "\u0301", "\u0301"} { // up to the root, and down twice
			p.do(chromedp.KeyEvent(key))
		}
		for {
			name := eval[string](p, `document.querySelector(".details").innerText.split("\n")[0]`)
			if slices.Contains(out, name) {
				return out
			}
			out = append(out, name)
			p.do(chromedp.KeyEvent("\u0303")) // to the right
		}
	}
	p.visit("view=flame&metric=inclusive_bytes", "canvas[data-boxes]")
	byValue := siblings()
	want := slices.Sorted(slices.Values(byValue))
	if len(want) < 3 || slices.Equal(byValue, want) {
		t.Fatalf("by value, functions are %q: that tells nothing", byValue)
	}
	eval[bool](p, `(e => { e.value = "name"; e.dispatchEvent(new Event("change", {bubbles: true})); return true; })
		(document.querySelector("#order"))`)
	p.until(`location.search.includes("order=name")`)
	p.do(chromedp.Reload())
	p.until(`document.querySelector("canvas[data-boxes]")`)
	if got := siblings(); !slices.Equal(got, want) {
		t.Errorf("by name, functions are %q, want %q", got, want)
	}
	p.do(chromedp.KeyEvent("\r"))
	p.until(`location.search.includes("at=") && document.querySelector(".crumbs")`)
	zoomed := eval[string](p, `document.querySelector(".crumbs").innerText`)
	eval[bool](p, `(e => { e.value = ""; e.dispatchEvent(new Event("change", {bubbles: true})); return true; })
		(document.querySelector("#order"))`)
	p.until(fmt.Sprintf(`!location.search.includes("order=") && document.querySelector(".crumbs").innerText === %q`, zoomed))
	p.refused()
}
