// A head's weights as a very small picture.

import { colourAt, shareOf } from '../../maths/colour';
import type { Weights } from './weights';

/** Paint one pixel a weight; the page makes it larger without smoothing. */
export function paintThumbnail(
  canvas: HTMLCanvasElement,
  weights: Weights,
  table: Uint8ClampedArray,
  largest: number,
): void {
  canvas.width = weights.columns;
  canvas.height = weights.rows;
  const paint = canvas.getContext('2d');
  if (!paint || weights.data.length === 0) return;
  const image = new ImageData(weights.columns, weights.rows);
  for (let index = 0; index < weights.data.length; index++) {
    const value = weights.data[index];
    if (Number.isNaN(value)) continue;
    const colour = colourAt(table, shareOf(value, largest, 'weights'));
    image.data.set(colour, index * 4);
    image.data[index * 4 + 3] = 255;
  }
  paint.putImageData(image, 0, 0);
}

/** Large maps are pooled to something that a small picture can show: the largest weight of each cell. */
export function pooled(weights: Weights, most: number): Weights {
  const [down, right] = [Math.ceil(weights.rows / most), Math.ceil(weights.columns / most)];
  if (down === 1 && right === 1) return weights;
  const [rows, columns] = [Math.ceil(weights.rows / down), Math.ceil(weights.columns / right)];
  const data = new Float32Array(rows * columns).fill(NaN);
  for (let row = 0; row < weights.rows; row++) {
    for (let column = 0; column < weights.columns; column++) {
      const value = weights.data[row * weights.columns + column];
      const at = Math.floor(row / down) * columns + Math.floor(column / right);
      if (!(data[at] >= value) && !Number.isNaN(value)) data[at] = value;
    }
  }
  return { data, rows, columns };
}
