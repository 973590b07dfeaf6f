// The large map, stroke by stroke: cells, what is in focus, and the tokens at its sides.
import { coarser, paint } from "./colours.js";
import { isPlace } from "./tools.js";

export const FONT = '12px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif';
export const APART = 8; // pixels from which on cells stand apart
export const READABLE = 13; // pixels that a token needs to be read
const NUMBERED = 27; // pixels from which on cells bear their numbers

export function drawCells(chart, brush) {
  const { rows, columns } = chart.seen();
  const { picture, colours } = chart;
  const numbered = Math.min(chart.across, chart.down) >= NUMBERED;
  brush.textAlign = "center";
  brush.textBaseline = "middle";
  for (let i = rows[0]; i < rows[1]; i++) {
    for (let j = columns[0]; j < columns[1]; j++) {
      const [byte, tint] = [picture.bytes, chart.tints].map((bytes) => bytes[i * picture.wide + j]);
      brush.fillStyle = picture.hidden(i, j) ? colours.masked : colours.css[tint];
      brush.fillRect(chart.x(j), chart.y(i), chart.across - 1, chart.down - 1);
      if (!numbered || byte < 3) continue;
      brush.fillStyle = colours.onto[tint];
      brush.fillText(hundredths(picture.read(i, j).weight), chart.x(j + 0.5) - 0.5, chart.y(i + 0.5));
    }
  }
}

// Small cells, as one image; where even a pixel is too large for a cell, by the largest weight beneath it.
export function drawImage(chart, brush) {
  const factor = Math.max(1, Math.round(1 / Math.min(chart.across, chart.down)));
  if (!chart.images.has(factor)) {
    const { picture } = chart;
    const image = document.createElement("canvas");
    const part = coarser(chart.tints, picture.high, picture.wide, factor);
    paint(image, part, chart.colours, (i, j) => picture.hidden(i * factor + factor - 1, j * factor));
    chart.images.set(factor, image);
  }
  const image = chart.images.get(factor);
  brush.imageSmoothingEnabled = false;
  brush.drawImage(
    image,
    chart.x(0),
    chart.y(0),
    image.width * chart.across * factor,
    image.height * chart.down * factor,
  );
}

export function drawFocus(chart, brush) {
  const { row, column } = chart.focus;
  const { high, wide } = chart.picture;
  brush.lineWidth = 1.5;
  const box = (colour, left, top, width, height) => {
    brush.strokeStyle = colour;
    brush.strokeRect(left - 0.5, top - 0.5, width, height);
  };
  if (isPlace(column)) box(chart.colours.cold, chart.x(column), chart.y(0), chart.across, chart.down * high);
  if (isPlace(row)) box(chart.colours.warm, chart.x(0), chart.y(row), chart.across * wide, chart.down);
  if (isPlace(row) && isPlace(column)) {
    brush.lineWidth = 2.5;
    box(chart.colours.ink, chart.x(column), chart.y(row), chart.across, chart.down);
  }
}

// Tokens at the side: as many as have room, and always those in focus.
export function drawTokens(chart, brush, side) {
  const down = side === "row";
  const [width, height] = chart.size;
  const size = down ? chart.down : chart.across;
  const [first, last] = chart.seen()[down ? "rows" : "columns"];
  const chosen = chart.focus[side];
  brush.save();
  brush.fillStyle = chart.colours.card;
  brush.fillRect(down ? 0 : chart.left, 0, down ? chart.left : width - chart.left, down ? height : chart.top);
  brush.textAlign = down ? "right" : "left";
  brush.textBaseline = "middle";
  const step = Math.max(1, Math.ceil(READABLE / size));
  for (let place = Math.ceil(first / step) * step; place < last; place += step) {
    const clear = !isPlace(chosen) || Math.abs(place - chosen) * size >= READABLE;
    if (clear) drawToken(chart, brush, side, place, chart.colours[step > 1 ? "soft" : "ink"]);
  }
  if (isPlace(chosen)) {
    brush.font = `600 ${FONT}`;
    drawToken(chart, brush, side, chosen, chart.colours[down ? "warm" : "cold"]);
  }
  brush.restore();
}

function drawToken(chart, brush, side, place, colour) {
  const down = side === "row";
  const at = down ? chart.y(place + 0.5) : chart.x(place + 0.5);
  if (at < (down ? chart.top : chart.left) - 2) return;
  const room = (down ? chart.left : chart.top) - 10;
  const text = shortened(brush, chart.picture.label(side, place), room);
  brush.save();
  brush.fillStyle = colour;
  brush.translate(down ? chart.left - 6 : at, down ? at : chart.top - 6);
  if (!down) brush.rotate(-Math.PI / 2);
  brush.fillText(text, 0, 0);
  brush.restore();
}

const hundredths = (weight) => (weight >= 0.995 ? "1" : weight.toFixed(2).slice(1));

function shortened(brush, text, room) {
  if (brush.measureText(text).width <= room) return text;
  const letters = [...text];
  let kept = Math.floor((letters.length * room) / brush.measureText(text).width);
  while (kept > 1 && brush.measureText(letters.slice(0, kept).join("") + "…").width > room) kept--;
  return letters.slice(0, kept).join("") + "…";
}
