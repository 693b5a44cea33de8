// The colours of what has a name: the same name has the same colour in every session. Texts on them are read easily (4.5 : 1) in
// either theme, which a test checks of all of them.

function fnv(s: string): number {
  let h = 0x811c9dc5;
  for (let i = 0; i < s.length; i++) h = Math.imul(h ^ s.charCodeAt(i), 0x01000193) >>> 0;
  return h;
}

const hues = [24, 42, 340, 96, 150, 275, 12, 60], tones = 3;
const vivid = (hue: number, dark: boolean) => `hsl(${hue} ${dark ? "42% 27%" : "68% 80%"})`;
const pale = (hue: number, dark: boolean) => `hsl(${hue} ${dark ? "16% 27%" : "26% 86%"})`;
const toned = (hue: number, tone: number, dark: boolean) => `hsl(${hue} ${[75, 50, 90][tone]}% ${dark ? [22, 21, 20][tone] : [80, 87, 76][tone]}%)`;

/** The colour of a module. Those that are not the user's stay in the background. */
export function ofModule(name: string, isUser: boolean, dark: boolean): string {
  const h = fnv(name);
  return isUser ? vivid(hues[h % hues.length], dark) : pale(205 + h % 40, dark);
}

/** The colour of a type. */
export function ofName(name: string, dark: boolean): string {
  const h = fnv(name);
  return toned(h % 360, (h >>> 16) % tones, dark);
}

/** All colours that names can have. */
export function all(dark: boolean): string[] {
  const wheel = [...Array(360).keys()];
  return [...hues.map((h) => vivid(h, dark)), ...wheel.slice(205, 245).map((h) => pale(h, dark)), ...wheel.flatMap((h) => [...Array(tones).keys()].map((tone) => toned(h, tone, dark)))];
}
