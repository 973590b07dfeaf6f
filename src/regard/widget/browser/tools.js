// Small helpers: elements, and numbers and tokens as people read them.

export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false)
      made.setAttribute(name, value === true && !name.startsWith("aria-") ? "" : value);
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

export const isPlace = (place) => place !== null && place !== undefined;

export const clamp = (number, least, most) => Math.min(Math.max(number, least), most);

export const ROUNDING = 0.002; // what a byte may be off: 0.5 / 255

// 0.4231 where it is exact; ≈ 0.423 ± 0.002 where it is one of 256 levels. By value, of `unit`: the product itself.
export function figure({ weight, exact, unit, error }) {
  if (unit) {
    if (exact) return (weight * unit).toPrecision(4);
    return weight ? `≈ ${(weight * unit).toPrecision(3)} ± ${error.toPrecision(1)}` : `under ${error.toPrecision(1)}`;
  }
  if (exact) return weight > 0 && weight < 0.00005 ? "< 0.0001" : weight.toFixed(4);
  return weight === 0 ? `under ${ROUNDING}` : `≈ ${weight.toFixed(3)} ± ${ROUNDING}`;
}

export const briefly = (one) =>
  one.exact || one.unit ? figure(one).split(" ±")[0] : one.weight === 0 ? `< ${ROUNDING}` : `≈ ${one.weight.toFixed(3)}`;

const SIGNS = { " ": "·", "\n": "⏎", "\r": "␍", "\t": "⇥", "\u00a0": "⍽" };
// Characters that show nothing, or turn the text after them around.
const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/gu;

// A token so that all of it can be seen: a space is a dot, a line break an arrow.
export function visible(token) {
  const text = String(token);
  if (text === "") return "∅";
  const signed = text.replace(/[ \n\r\t\u00a0]/g, (character) => SIGNS[character]);
  return signed.replace(UNSEEN, (character) => `⟨${character.codePointAt(0).toString(16).padStart(4, "0")}⟩`);
}

const LONGEST = 48; // letters of a token that is quoted

// As it reads in a sentence: without the space before a word, and set apart, whichever way it is written.
export function quoted(text) {
  const word = String(text).trim();
  const letters = [...(word === "" ? visible(text) : word.split(" ").map(visible).join(" "))];
  return `\u2068“${letters.slice(0, LONGEST).join("")}${letters.length > LONGEST ? "…" : ""}”\u2069`;
}

export const counted = (number, one, many = `${one}s`) => `${number.toLocaleString("en")} ${number === 1 ? one : many}`;
