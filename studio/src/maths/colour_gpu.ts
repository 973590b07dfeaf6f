// Numbers to colours on the GPU: the same rule as `shareOf` in colour.ts, in a shader; the numbers stay numbers.

export const VERTEX = `#version 300 es
layout(location = 0) in vec2 corner;
uniform vec4 place; // x, y, width, height, in clip space
out vec2 at;
void main() {
  at = corner;
  gl_Position = vec4(place.x + corner.x * place.z, place.y - corner.y * place.w, 0.0, 1.0);
}`;

export const FRAGMENT = `#version 300 es
precision highp float;
uniform highp sampler2D numbers;
uniform sampler2D ramp;
uniform vec2 cells;
uniform float factor;
uniform float largest;
uniform float decades; // of a log scale; 0: linear
in vec2 at;
out vec4 colour;
void main() {
  ivec2 cell = ivec2(min(floor(at * cells), cells - 1.0));
  float value = texelFetch(numbers, cell, 0).r * factor;
  float share = largest > 0.0 ? value / largest : 0.0;
  if (decades > 0.0) share = share <= 0.0 ? 0.0 : max(0.0, 1.0 + log(share) / log(10.0) / decades);
  colour = texelFetch(ramp, ivec2(int(round(255.0 * clamp(share, 0.0, 1.0))), 0), 0);
}`;

/** Where a rectangle of the page's pixels lies in clip space. */
export function clipPlace(
  x: number,
  y: number,
  width: number,
  height: number,
  pane: { width: number; height: number },
): [number, number, number, number] {
  return [
    (2 * x) / pane.width - 1,
    1 - (2 * y) / pane.height,
    (2 * width) / pane.width,
    (2 * height) / pane.height,
  ];
}
