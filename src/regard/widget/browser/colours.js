// Colours, taken from the style sheet: a ramp from nothing to a weight of 1, and the inks around it.

const NAMES = ["ink", "soft", "ground", "card", "line", "warm", "cold", "mark", "masked"];

// How weights become shares of the ramp.
export const SCALES = {
  root: { name: "√ weight", share: Math.sqrt, marks: [0, 0.02, 0.1, 0.25, 0.5, 1] },
  linear: { name: "weight", share: (weight) => weight, marks: [0, 0.25, 0.5, 0.75, 1] },
  row: { name: "weight / row's largest", share: (weight) => weight, marks: [0, 0.25, 0.5, 0.75, 1] },
};

// The inks around the maps, and a colour for every byte.
export function palette(root, scale) {
  const style = getComputedStyle(root);
  const inks = Object.fromEntries(NAMES.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
  const ramp = style.getPropertyValue("--ramp").trim().split(/\s+/);
  const shares = Array.from({ length: 256 }, (_, byte) => SCALES[scale].share(byte / 255));
  const colours = shares.map((share) => between(ramp.map(channels), share));
  const pixels = new Uint32Array(new Uint8ClampedArray(colours.flatMap((colour) => [...colour, 255])).buffer);
  const [hidden] = new Uint32Array(new Uint8ClampedArray([...channels(inks.masked), 255]).buffer);
  const css = colours.map((colour) => `rgb(${colour.join(" ")})`);
  const onto = colours.map((colour) => (luminance(colour) > 0.36 ? "#1c1a17" : "#fdf6ec"));
  return { ...inks, scale, ramp, shares, pixels, hidden, css, onto };
}

const LEAST = 16; // what a row with smaller bytes is coloured by: else rounding would be most of what one sees

// The bytes that are coloured: the weights themselves, or each as a part of the largest in its row.
export function tints({ bytes, weights = null, high, wide }, { scale }) {
  if (scale !== "row") return bytes;
  const found = new Uint8Array(bytes.length);
  for (let i = 0; i < high; i++) {
    const row = (weights ?? bytes).subarray(i * wide, (i + 1) * wide);
    const most = row.reduce((a, b) => Math.max(a, b), weights ? 0 : LEAST) || 1;
    row.forEach((weight, j) => (found[i * wide + j] = Math.round((255 * weight) / most)));
  }
  return found;
}

const channels = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));

function between(stops, share) {
  const at = share * (stops.length - 1);
  const low = Math.min(Math.floor(at), stops.length - 2);
  return stops[low].map((from, channel) => Math.round(from + (at - low) * (stops[low + 1][channel] - from)));
}

// How light a colour is: a number printed on it is dark above a third or so.
function luminance(colour) {
  const linear = colour.map((channel) => (channel / 255) ** 2.2);
  return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
}

// Bytes as pixels, one for each cell; `hidden(i, j)` where nothing may be looked at.
export function paint(canvas, { bytes, high, wide }, colours, hidden) {
  canvas.width = wide;
  canvas.height = high;
  const image = new ImageData(wide, high);
  const pixels = new Uint32Array(image.data.buffer);
  for (let at = 0; at < bytes.length; at++) pixels[at] = colours.pixels[bytes[at]];
  for (let i = 0; i < high; i++)
    for (let j = wide - 1; j >= 0 && hidden(i, j); j--) pixels[i * wide + j] = colours.hidden;
  canvas.getContext("2d").putImageData(image, 0, 0);
}

// The same bytes with fewer cells, each the largest of those it stands for: nothing strong is lost on a small canvas.
export function coarser(bytes, high, wide, factor) {
  if (factor === 1) return { bytes, high, wide };
  const [rows, columns] = [Math.ceil(high / factor), Math.ceil(wide / factor)];
  const found = new Uint8Array(rows * columns);
  for (let i = 0; i < high; i++) {
    for (let j = 0; j < wide; j++) {
      const at = Math.floor(i / factor) * columns + Math.floor(j / factor);
      found[at] = Math.max(found[at], bytes[i * wide + j]);
    }
  }
  return { bytes: found, high: rows, wide: columns };
}
