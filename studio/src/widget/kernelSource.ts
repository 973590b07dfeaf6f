// A notebook's kernel behind a page: it is asked over the widget's channel, and answers exactly, in bytes.

import type { CellAnswer, Numbers, StrongCell } from '../contract/types';
import {
  EVERYTHING,
  type Abilities,
  type By,
  type Pool,
  type Range,
  type Where,
} from '../views/heads/source';
import type { Row } from './look';
import { PageSource } from './pageSource';
import type { Description, Plate } from './payload';

export interface Answered {
  content: Record<string, unknown>;
  data: Float32Array;
}
export type Ask = (question: Record<string, unknown>, signal?: AbortSignal) => Promise<Answered>;

export class KernelSource extends PageSource {
  override readonly can: Abilities = EVERYTHING;
  readonly #answers = new Map<string, Promise<Answered>>();

  constructor(
    description: Description,
    plates: readonly Plate[],
    row: Row,
    private readonly ask: Ask,
  ) {
    super(description, plates, row);
    for (const site of this.look.sites) site.values = this.plates.get(site.site)!.whole.words.norms !== null;
  }

  /** For small pictures what came along will do. */
  override async weights(site: string, by: By = 'weight'): Promise<Numbers> {
    const { whole } = this.plates.get(site)!;
    if (!whole.pooled && (by === 'weight' || whole.hasNorms)) return super.weights(site, by);
    return this.#numbers({ what: 'weights', site, by }, { site, by });
  }

  override head(site: string, head: number, by: By = 'weight'): Promise<Numbers> {
    return this.#numbers({ what: 'weights', site, head, by }, { site, head, by });
  }

  override tile(site: string, head: number, rows: Range, columns: Range, size: [number, number], by: Pool,
    _dtype: string, signal?: AbortSignal): Promise<Numbers> {
    return this.#numbers({ what: 'tile', site, head, rows, columns, size, pool: by }, {}, signal);
  } // prettier-ignore

  override marginals(
    site: string,
    head: number,
    bins: number,
    _: Where,
    signal?: AbortSignal,
  ): Promise<Numbers> {
    return this.#numbers({ what: 'marginals', site, head, bins }, {}, signal);
  }

  override async strongest(site: string, head: number, count: number, where: Where, signal?: AbortSignal): Promise<StrongCell[]> {
    const asked = { what: 'strongest', site, head, count, all: where.all ?? false, rows: where.rows, columns: where.columns };
    const { content } = await this.#asked(asked, signal);
    const info = this.site(site)!;
    const token = (side: 'source' | 'target', place: number) => this.look[side][place] ?? String(place);
    return (content.cells as [number, number, number][]).map(([row, column, weight]) => ({
      row, column, weight, row_token: token(info.rows, row), column_token: token(info.columns, column),
    }));
  } // prettier-ignore

  override async cell(site: string, head: number, row: number, column: number): Promise<CellAnswer> {
    const { content } = await this.#asked({ what: 'cell', site, head, row, column });
    const info = this.site(site)!;
    const facts = content.facts as CellAnswer & { row_top: [number, number][] };
    const token = (side: 'source' | 'target', place: number) => this.look[side][place] ?? String(place);
    const top = facts.row_top as unknown as [number, number][];
    return {
      ...facts, site, head, row, column,
      row_token: token(info.rows, row), column_token: token(info.columns, column),
      row_top: top.map(([key, weight]) => ({ column: key, weight, token: token(info.columns, key) })),
    };
  } // prettier-ignore

  async #numbers(question: Record<string, unknown>, meta: object, signal?: AbortSignal): Promise<Numbers> {
    const { content, data } = await this.#asked(question, signal);
    return { data, shape: content.shape as number[], meta: { ...(content.meta as object), ...meta } };
  }

  /** The same question has the same answer; one that failed may be asked again. */
  #asked(question: Record<string, unknown>, signal?: AbortSignal): Promise<Answered> {
    if (question.what === 'tile') return this.ask(question, signal); // kept by whoever draws them
    const key = JSON.stringify(question);
    const known = this.#answers.get(key);
    if (known) return known;
    const asked = this.ask(question);
    this.#answers.set(key, asked);
    asked.catch(() => this.#answers.delete(key));
    return asked;
  }
}
