// What tiles are drawn on: WebGL2 where there is one, else a 2D canvas. Numbers go in, colours come out.

import { shareOf, type Scale } from '../../maths/colour';
import { clipPlace, FRAGMENT, VERTEX } from '../../maths/colour_gpu';

export interface DrawnTile {
  key: string;
  numbers: Float32Array;
  /** Cells down and across. */
  cells: [number, number];
  x: number;
  y: number;
  width: number;
  height: number;
  /** What its numbers are multiplied by before they are coloured. */
  factor: number;
}
export interface Paint {
  table: Uint8ClampedArray;
  largest: number;
  scale: Scale;
  pane: { width: number; height: number };
}
export interface Plate {
  readonly kind: 'webgl2' | '2d';
  draw(tiles: readonly DrawnTile[], paint: Paint): void;
  drop(key: string): void;
  dispose(): void;
}

const DECADES = 4; // as in colour.ts

export function makePlate(canvas: HTMLCanvasElement, plain = false): Plate {
  const gl = plain ? null : canvas.getContext('webgl2', { antialias: false, alpha: true });
  return gl ? new GpuPlate(canvas, gl) : new PlainPlate(canvas);
}

function sized(canvas: HTMLCanvasElement, { width, height }: { width: number; height: number }): number {
  const sharp = window.devicePixelRatio || 1;
  const [wide, high] = [Math.max(1, Math.round(width * sharp)), Math.max(1, Math.round(height * sharp))];
  if (canvas.width !== wide || canvas.height !== high) [canvas.width, canvas.height] = [wide, high];
  return sharp;
}

class GpuPlate implements Plate {
  readonly kind = 'webgl2';
  readonly #program: WebGLProgram;
  readonly #ramp: WebGLTexture;
  readonly #textures = new Map<string, WebGLTexture>();
  #coloured: Uint8ClampedArray | null = null;

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly gl: WebGL2RenderingContext,
  ) {
    this.#program = this.#compile();
    this.#ramp = this.#texture();
    const corners = gl.createBuffer();
    gl.bindBuffer(gl.ARRAY_BUFFER, corners);
    gl.bufferData(gl.ARRAY_BUFFER, new Float32Array([0, 0, 1, 0, 0, 1, 1, 1]), gl.STATIC_DRAW);
    gl.enableVertexAttribArray(0);
    gl.vertexAttribPointer(0, 2, gl.FLOAT, false, 0, 0);
  }

  draw(tiles: readonly DrawnTile[], { table, largest, scale, pane }: Paint): void {
    const { gl } = this;
    sized(this.canvas, pane);
    gl.viewport(0, 0, this.canvas.width, this.canvas.height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.useProgram(this.#program);
    this.#colours(table);
    const at = (name: string) => gl.getUniformLocation(this.#program, name);
    gl.uniform1i(at('numbers'), 0);
    gl.uniform1i(at('ramp'), 1);
    gl.uniform1f(at('largest'), largest);
    gl.uniform1f(at('decades'), scale === 'log' ? DECADES : 0);
    const [place, cells, factor] = [at('place'), at('cells'), at('factor')];
    for (const tile of tiles) {
      gl.activeTexture(gl.TEXTURE0);
      gl.bindTexture(gl.TEXTURE_2D, this.#numbers(tile));
      gl.uniform4f(place, ...clipPlace(tile.x, tile.y, tile.width, tile.height, pane));
      gl.uniform2f(cells, tile.cells[1], tile.cells[0]);
      gl.uniform1f(factor, tile.factor);
      gl.drawArrays(gl.TRIANGLE_STRIP, 0, 4);
    }
  }

  drop(key: string): void {
    const texture = this.#textures.get(key);
    if (texture) this.gl.deleteTexture(texture);
    this.#textures.delete(key);
  }

  dispose(): void {
    for (const key of [...this.#textures.keys()]) this.drop(key);
    this.gl.getExtension('WEBGL_lose_context')?.loseContext();
  }

  #numbers(tile: DrawnTile): WebGLTexture {
    const known = this.#textures.get(tile.key);
    if (known) return known;
    const { gl } = this;
    const texture = this.#texture();
    gl.pixelStorei(gl.UNPACK_ALIGNMENT, 4);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.R32F, tile.cells[1], tile.cells[0], 0, gl.RED, gl.FLOAT, tile.numbers);
    this.#textures.set(tile.key, texture);
    return texture;
  }

  #colours(table: Uint8ClampedArray): void {
    const { gl } = this;
    gl.activeTexture(gl.TEXTURE1);
    gl.bindTexture(gl.TEXTURE_2D, this.#ramp);
    if (this.#coloured === table) return;
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, 256, 1, 0, gl.RGBA, gl.UNSIGNED_BYTE, new Uint8Array(table));
    this.#coloured = table;
  }

  #texture(): WebGLTexture {
    const { gl } = this;
    const texture = gl.createTexture();
    gl.bindTexture(gl.TEXTURE_2D, texture);
    for (const name of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER])
      gl.texParameteri(gl.TEXTURE_2D, name, gl.NEAREST);
    for (const name of [gl.TEXTURE_WRAP_S, gl.TEXTURE_WRAP_T])
      gl.texParameteri(gl.TEXTURE_2D, name, gl.CLAMP_TO_EDGE);
    return texture;
  }

  #compile(): WebGLProgram {
    const { gl } = this;
    const program = gl.createProgram();
    for (const [kind, source] of [
      [gl.VERTEX_SHADER, VERTEX],
      [gl.FRAGMENT_SHADER, FRAGMENT],
    ] as const) {
      const shader = gl.createShader(kind)!;
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS) && !gl.isContextLost())
      throw new Error(gl.getProgramInfoLog(program) ?? 'no shader');
    return program;
  }
}

class PlainPlate implements Plate {
  readonly kind = '2d';
  readonly #pictures = new Map<string, { canvas: HTMLCanvasElement; of: string }>();

  constructor(private readonly canvas: HTMLCanvasElement) {}

  draw(tiles: readonly DrawnTile[], paint: Paint): void {
    const sharp = sized(this.canvas, paint.pane);
    const brush = this.canvas.getContext('2d');
    if (!brush) return;
    brush.setTransform(sharp, 0, 0, sharp, 0, 0);
    brush.clearRect(0, 0, paint.pane.width, paint.pane.height);
    brush.imageSmoothingEnabled = false;
    for (const tile of tiles)
      brush.drawImage(this.#picture(tile, paint), tile.x, tile.y, tile.width, tile.height);
  }

  drop(key: string): void {
    this.#pictures.delete(key);
  }

  dispose(): void {
    this.#pictures.clear();
  }

  #picture(tile: DrawnTile, { table, largest, scale }: Paint): HTMLCanvasElement {
    const of = `${largest} ${scale} ${tile.factor} ${table[0]} ${table[table.length - 4]}`;
    const known = this.#pictures.get(tile.key);
    if (known?.of === of) return known.canvas;
    const canvas = document.createElement('canvas');
    [canvas.height, canvas.width] = tile.cells;
    canvas.getContext('2d')!.putImageData(paintTile(tile, table, largest, scale), 0, 0);
    this.#pictures.set(tile.key, { canvas, of });
    return canvas;
  }
}

/** A tile's numbers as pixels. */
export function paintTile(
  tile: DrawnTile,
  table: Uint8ClampedArray,
  largest: number,
  scale: Scale,
): ImageData {
  const image = new ImageData(tile.cells[1], tile.cells[0]);
  for (let index = 0; index < tile.numbers.length; index++) {
    const share = Math.min(1, Math.max(0, shareOf(tile.numbers[index] * tile.factor, largest, scale)));
    const at = 4 * Math.round(255 * share);
    for (let part = 0; part < 4; part++) image.data[4 * index + part] = table[at + part];
  }
  return image;
}
