// A page that brought its numbers along: every weight to 0.002, the strongest of each row exactly.

import type { CellAnswer, FoundPositions, HeadsAnswer, Look, Numbers, SiteInfo, StrongCell, TextPart } from '../contract/types'; // prettier-ignore
import { largestCells, poolGrid, type Grid } from '../maths/pool';
import { foundPositions } from '../maths/search';
import { t } from '../state/text.svelte';
import type { Abilities, By, LookSource, Pool, Range, Side, Where } from '../views/heads/source';
import { sideOf } from '../views/heads/tokens';
import { lookOf, platesBySite, type Row } from './look';
import type { Description, Plate } from './payload';

const ROUNDING = 0.002; // what a byte may be off: 0.5 / 255
const TINY = 0.00005; // what four decimals do not show

export class PageSource implements LookSource {
  readonly id: string;
  readonly look: Look;
  readonly can: Abilities = {
    why: false,
    finest: (site, head) => Math.log2(this.plate(site, head).words.cell[0]),
    pools: (site, head) => (this.plate(site, head).pooled ? ['max'] : ['mass', 'max', 'mean']),
    figure: (site, head, row, column, by) => this.#figure(site, head, row, column, by),
  };
  protected readonly plates: ReturnType<typeof platesBySite>;

  constructor(
    readonly description: Description,
    plates: readonly Plate[],
    readonly row: Row,
  ) {
    this.id = `page ${row}`;
    this.plates = platesBySite(plates);
    this.look = lookOf(description, plates, row);
  }

  site(name: string | undefined): SiteInfo | undefined {
    return this.look.sites.find((one) => one.site === name);
  }

  /** The finest that is known of a head. */
  plate(site: string, head: number): Plate {
    const known = this.plates.get(site)!;
    return known.closer?.words.heads.includes(head) ? known.closer : known.whole;
  }

  async weights(site: string, by: By = 'weight'): Promise<Numbers> {
    const { whole } = this.plates.get(site)!;
    const { heads } = whole.words;
    const size = whole.high * whole.wide;
    const data = new Float32Array(heads.length * size);
    heads.forEach((head, place) => data.set(this.grid(whole, head, by).data, place * size));
    return { data, shape: [heads.length, whole.high, whole.wide], meta: { site, by } };
  }

  async head(site: string, head: number, by: By = 'weight'): Promise<Numbers> {
    const { data, rows, columns } = this.grid(this.plate(site, head), head, by);
    return { data, shape: [rows, columns], meta: { site, head, by } };
  }

  async heads(): Promise<HeadsAnswer> {
    const rows = [...this.plates.values()].flatMap(({ whole: { words } }) =>
      words.heads.map((head, place) => {
        const measures = Object.entries(words.measures).map(([name, all]) => [name, all[place]]);
        return { site: words.site, head, ...Object.fromEntries(measures) } as HeadsAnswer['rows'][number];
      }),
    );
    return { columns: [], rows: rows.filter((one) => 'entropy' in one) };
  }

  async cell(..._: [string, number, number, number]): Promise<CellAnswer> {
    throw new Error(t('look.noCell'));
  }

  async tile(site: string, head: number, rows: Range, columns: Range, size: [number, number], by: Pool,
    _dtype?: string, _signal?: AbortSignal): Promise<Numbers> {
    const plate = this.plate(site, head);
    const known = plate.words.cell[0];
    let cell = known;
    while (Math.ceil((rows[1] - rows[0]) / cell) > size[0] || Math.ceil((columns[1] - columns[0]) / cell) > size[1])
      cell *= 2;
    const part = ([first, last]: Range): Range => [Math.floor(first / known), Math.ceil(last / known)];
    const grid = this.grid(plate, head, plate.words.by);
    const tile = poolGrid(grid, part(rows), part(columns), cell / known, plate.pooled ? 'max' : by);
    return { data: tile.data, shape: [tile.rows, tile.columns], meta: { cell: [cell, cell] } };
  } // prettier-ignore

  async marginals(
    site: string,
    head: number,
    bins: number,
    _: Where,
    _signal?: AbortSignal,
  ): Promise<Numbers> {
    const plate = this.plate(site, head);
    const { rows, columns, data } = this.grid(plate, head, 'weight');
    const entropy = new Float32Array(rows).fill(NaN);
    const received = new Float32Array(columns).fill(NaN);
    for (let row = 0; row < rows && !plate.pooled; row++) {
      entropy[row] = 0;
      for (let column = 0; column < columns; column++) {
        const weight = data[row * columns + column];
        if (weight > 0) entropy[row] -= weight * Math.log(weight);
        received[column] = (row ? received[column] : 0) + weight;
      }
    }
    return binned(entropy, received, bins);
  }

  async strongest(site: string, head: number, count: number, where: Where, _signal?: AbortSignal): Promise<StrongCell[]> {
    const plate = this.plate(site, head);
    const { cell, own } = plate.words;
    const grid = this.grid(plate, head, plate.words.by);
    const part = (range: Range | undefined, length: number): Range =>
      range ? [Math.floor(range[0] / cell[0]), Math.ceil(range[1] / cell[0])] : [0, length];
    const skip = where.all || own === null
      ? undefined
      : (row: number, column: number) => column === 0 || column === Math.floor((row * cell[0] + own) / cell[0]);
    const best = largestCells(grid, count, part(where.rows, grid.rows), part(where.columns, grid.columns), skip);
    const info = this.site(site)!;
    return best.map(({ row, column, value }) => ({
      row: row * cell[0], column: column * cell[1], weight: value,
      row_token: this.#words(info.rows, row, cell[0]), column_token: this.#words(info.columns, column, cell[1]),
    }));
  } // prettier-ignore

  async text(side: Side, from: number, to: number): Promise<TextPart> {
    return { start: from, tokens: sideOf(this.look, side).slice(from, to) };
  }

  async search(side: Side, q: string, _signal?: AbortSignal): Promise<FoundPositions> {
    return foundPositions(sideOf(this.look, side), q);
  }

  /** A head's numbers: weights, or by value the products; pooled cells are as they were written. */
  protected grid(plate: Plate, head: number, by: By): Grid {
    const place = plate.words.heads.indexOf(head);
    const { data } = plate.numbers(place);
    const grid = { data, rows: plate.high, columns: plate.wide };
    if (by === 'weight' && plate.words.by === 'weight') return grid;
    if (plate.words.by === 'value') {
      const largest = plate.words.norms?.largest[place] ?? 1;
      return { ...grid, data: data.map((share) => share * largest) };
    }
    if (!plate.hasNorms) return grid;
    const norms = plate.norms(place);
    return { ...grid, data: data.map((weight, at) => weight * norms[at % plate.wide]) };
  }

  #words(side: Side, cell: number, size: number): string {
    const tokens = sideOf(this.look, side).slice(cell * size, (cell + 1) * size);
    return tokens.length > 1 ? `${tokens[0]} … ${tokens.at(-1)}` : (tokens[0] ?? String(cell));
  }

  #figure(site: string, head: number, row: number, column: number, by: By): string {
    const plate = this.plate(site, head);
    const { heads, cell } = plate.words;
    const place = heads.indexOf(head);
    const [down, across] = [Math.floor(row / cell[0]), Math.floor(column / cell[1])];
    const at = down * plate.wide + across;
    const { data, exact } = plate.numbers(place);
    const unit = this.#unit(plate, place, across, by);
    const [number, error] = [data[at] * (unit ?? 1), ROUNDING * (unit ?? 1)];
    const digits = (value: number, decimals: number) =>
      unit === null ? value.toFixed(decimals) : String(Number(value.toPrecision(decimals)));
    if (exact[at]) return unit === null && number > 0 && number < TINY ? '< 0.0001' : digits(number, 4);
    if (data[at] === 0) return t('look.under', { error: Number(error.toPrecision(1)) });
    return `≈ ${digits(number, 3)} ± ${Number(error.toPrecision(1))}`;
  }

  /** What a stored number is multiplied by to be a product of a weight and a norm; null where it is a weight. */
  #unit(plate: Plate, place: number, column: number, by: By): number | null {
    if (plate.words.by === 'value') return plate.words.norms?.largest[place] ?? 1;
    return by === 'value' ? plate.norms(place)[column] : null;
  }
}

function binned(entropy: Float32Array, received: Float32Array, most: number): Numbers {
  const cells = [entropy, received].map((values) => Math.max(1, Math.ceil(values.length / most)));
  const bins = Math.min(most, Math.max(...[entropy, received].map((values, at) => Math.ceil(values.length / cells[at]))));
  const data = new Float32Array(2 * bins).fill(NaN);
  [entropy, received].forEach((values, side) => {
    for (let bin = 0; bin * cells[side] < values.length; bin++) {
      const part = values.subarray(bin * cells[side], (bin + 1) * cells[side]);
      data[side * bins + bin] = part.reduce((sum, value) => sum + value, 0) / part.length;
    }
  });
  return { data, shape: [2, bins], meta: { row_cell: cells[0], column_cell: cells[1] } };
} // prettier-ignore
