// The colours of what has a name: the same name has the same colour in every session. Texts on them are read easily (4.5 : 1) in
// either theme, which a test checks of all of them.

function fnv(s: string): number {
  let h = 0x811c9dc5;
  for (let i = 0; i < s.length; i++) h = Math.imul(h ^ s.charCodeAt(i), 0x01000193) >>> 0;
  return h;
}

const tones = 3;
/** Colours that are told apart: hues so many degrees from each other, in some tones of each. */
type Shades = { hues: number[]; of: (hue: number, tone: number, dark: boolean) => string };
const wheel = (from: number, to: number, by: number) => { const out = []; for (let h = from; h < to; h += by) out.push(h); return out; };
/** Of the user's modules: all around the wheel but where the others are blue. */
const vivid: Shades = { hues: [...wheel(0, 190, 12), ...wheel(264, 360, 12)], of: (hue, tone, dark) => `hsl(${hue} ${(dark ? [44, 34, 60] : [68, 46, 60])[tone]}% ${(dark ? [25, 21, 23] : [80, 87, 74])[tone]}%)` };
/** Of the others, which stay in the background: grey with a touch of a hue. */
const pale: Shades = { hues: wheel(0, 360, 15), of: (hue, tone, dark) => `hsl(${hue} ${dark ? [12, 20, 16][tone] : [20, 32, 26][tone]}% ${(dark ? [25, 21, 29] : [88, 84, 91])[tone]}%)` };
const toned = (hue: number, tone: number, dark: boolean) => `hsl(${hue} ${[75, 50, 90][tone]}% ${dark ? [22, 21, 20][tone] : [80, 87, 76][tone]}%)`;

/** The colours of modules: each has its own. It has the one that its name says, or the next one that is free; where there are more
 * modules than colours are told apart, hues between them. Those that are not the user's stay in the background. */
export function ofModules(names: string[], isUser: boolean[], dark: boolean): string[] {
  const found = new Map<string, string>(), taken = new Set<string>();
  const order = [...new Map(names.map((name, n) => [name, isUser[n]]))].sort(([a], [b]) => a < b ? -1 : 1);
  for (const [name, own] of order) {
    const shades = own ? vivid : pale, first = fnv(name) % (shades.hues.length * tones);
    const shade = (k: number) => {
      const at = (first + 31 * k) % (shades.hues.length * tones), between = Math.floor(k / (shades.hues.length * tones)); // 31: far from the last one, and no divisor
      return shades.of(shades.hues[at % shades.hues.length] + between, Math.floor(at / shades.hues.length), dark);
    };
    let k = 0;
    while (taken.has(shade(k)) && k < mostShades) k++;
    taken.add(shade(k));
    found.set(name, shade(k));
  }
  return names.map((name) => found.get(name)!);
}

/** From so many modules on, colours come again. */
const mostShades = 700;

/** The colour of a type. */
export function ofName(name: string, dark: boolean): string {
  const h = fnv(name);
  return toned(h % 360, (h >>> 16) % tones, dark);
}

/** All colours that names can have. */
export function all(dark: boolean): string[] {
  const each = [...Array(tones).keys()], all = wheel(0, 360, 1);
  return [vivid.of, pale.of, (h: number, tone: number) => toned(h, tone, dark)].flatMap((of) => all.flatMap((h) => each.map((tone) => of(h, tone, dark))));
}
