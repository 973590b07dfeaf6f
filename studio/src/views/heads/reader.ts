// A look of the studio's server, as the pictures ask it.

import { ApiError, getJson, getNumbers, postJson } from '../../contract/api';
import type {
  CellAnswer, CurvesAnswer, EffectAnswer, FoundPositions, HeadChange, HeadEffectsAnswer, HeadsAnswer, Look, Numbers,
  SimilarityAnswer, StrongCell, TextPart, VectorPlace,
} from '../../contract/types'; // prettier-ignore
import { EVERYTHING, headOf, type By, type LookSource, type Pool, type Range, type Where } from './source';

/** What is looked at: a model, a checkpoint of a run (`run:NAME@CHECKPOINT`) or a recording (`recording:NAME`). */
export interface Subject {
  model: string;
  text: string;
  target?: string;
}

/** The effect of each head on each token of the output, where the server says so. */
export type Effects = Omit<HeadEffectsAnswer, 'rows'> & {
  tokens?: string[];
  rows: (HeadEffectsAnswer['rows'][number] & { by_token?: number[] })[];
};

const MOST_KEPT = 12;
const GONE = /not kept/; // of the server's sentence for a look that had to make room
const looks = new Map<string, Look>(); // across the pages: the same text is not read twice

export async function openLook(subject: Subject, signal?: AbortSignal): Promise<LookReader> {
  const key = JSON.stringify([subject.model, subject.text, subject.target ?? null]);
  const known = looks.get(key);
  const look = known ?? (await askLook(subject, signal));
  looks.delete(key);
  looks.set(key, look);
  for (const old of looks.keys()) if (looks.size > MOST_KEPT) looks.delete(old);
  return new LookReader(look, subject, () => looks.delete(key));
}

function askLook({ model, text, target }: Subject, signal?: AbortSignal): Promise<Look> {
  const run = /^run:(.+)@(.*)$/.exec(model);
  if (run) {
    const body = { checkpoint: run[2], text, ...(target ? { target } : {}) };
    return postJson<Look>(`api/runs/${encodeURIComponent(run[1])}/looks`, body, signal);
  }
  return postJson<Look>('api/looks', { model, text, ...(target ? { target } : {}) }, signal);
}

export class LookReader implements LookSource {
  readonly can = EVERYTHING;
  readonly #answers = new Map<string, Promise<unknown>>();
  #effects: Effects | null = null;
  #id: string;

  constructor(
    readonly look: Look,
    readonly subject: Subject,
    private readonly forget: () => void,
  ) {
    this.#id = look.id;
  }

  get id(): string {
    return this.#id;
  }

  site(name: string | undefined) {
    return this.look.sites.find((site) => site.site === name);
  }

  /** All heads of a site. */
  weights(site: string, by: By = 'weight'): Promise<Numbers> {
    return this.#kept(`weights?${query({ site, head: 'all', by })}`, (path) => getNumbers(path));
  }

  async head(name: string, head: number, by: By = 'weight'): Promise<Numbers> {
    const site = this.site(name);
    if (!site) throw new ApiError(404, `This look has no site ${name}.`);
    return headOf(await this.weights(name, by), site, head, by);
  }

  heads(): Promise<HeadsAnswer> {
    return this.#kept('heads', (path) => getJson<HeadsAnswer>(path));
  }

  /** Takes a run of the model for each head: given up when nobody waits for it any more. */
  async effects(signal: AbortSignal): Promise<Effects> {
    this.#effects ??= await this.#again((id) => getJson<Effects>(`api/looks/${id}/effects`, signal), signal);
    return this.#effects;
  }

  cell(site: string, head: number, row: number, column: number): Promise<CellAnswer> {
    return this.#kept(`cell?${query({ site, head, row, column })}`, (path) => getJson<CellAnswer>(path));
  }

  tile(site: string, head: number, rows: Range, columns: Range, size: [number, number], by: Pool,
    dtype: 'float16' | 'float32', signal?: AbortSignal): Promise<Numbers> {
    const asked = { site, head, rows: rows.join(':'), columns: columns.join(':'), height: size[0], width: size[1], by, dtype };
    return this.#again((id) => getNumbers(`api/looks/${id}/tile?${query(asked)}`, signal), signal);
  } // prettier-ignore

  marginals(site: string, head: number, bins: number, part: Where, signal?: AbortSignal): Promise<Numbers> {
    const asked = { site, head, bins, ...extents(part) };
    return this.#again((id) => getNumbers(`api/looks/${id}/marginals?${query(asked)}`, signal), signal);
  }

  strongest(site: string, head: number, count: number, where: Where,
    signal?: AbortSignal): Promise<StrongCell[]> {
    const asked: Record<string, string | number> = { site, head, count, ...extents(where) };
    if (where.all) asked.all = 'true';
    return this.#again((id) => getJson<StrongCell[]>(`api/looks/${id}/strongest?${query(asked)}`, signal), signal);
  } // prettier-ignore

  text(side: 'source' | 'target', from: number, to: number): Promise<TextPart> {
    return this.#kept(`text?${query({ side, from, to })}`, (path) => getJson<TextPart>(path));
  }

  search(side: 'source' | 'target', q: string, signal?: AbortSignal): Promise<FoundPositions> {
    return this.#again(
      (id) => getJson<FoundPositions>(`api/looks/${id}/search?${query({ side, q })}`, signal),
      signal,
    );
  }

  change(changes: HeadChange[], signal: AbortSignal): Promise<EffectAnswer> {
    return this.#again((look) => postJson<EffectAnswer>('api/effects', { look, changes }, signal), signal);
  }

  /** One answer, asked for once; an answer that failed may be asked for again. */
  #kept<T>(path: string, ask: (path: string) => Promise<T>): Promise<T> {
    const known = this.#answers.get(path) as Promise<T> | undefined;
    if (known) return known;
    const asked = this.#again((id) => ask(`api/looks/${id}/${path}`));
    this.#answers.set(path, asked);
    asked.catch(() => this.#answers.delete(path));
    return asked;
  }

  /** The server keeps only so many looks: one that is gone is looked at again, once. */
  async #again<T>(ask: (id: string) => Promise<T>, signal?: AbortSignal): Promise<T> {
    try {
      return await ask(this.#id);
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 404 || !GONE.test(error.message)) throw error;
      this.forget();
      const look = await askLook(this.subject, signal);
      this.#id = look.id;
      return ask(look.id);
    }
  }
}

export async function similarity(
  left: VectorPlace,
  right: VectorPlace,
  signal?: AbortSignal,
): Promise<SimilarityAnswer> {
  return postJson<SimilarityAnswer>('api/similarity', { left, right }, signal);
}

export const curvesOf = (run: string, signal?: AbortSignal) =>
  getJson<CurvesAnswer>(`api/runs/${encodeURIComponent(run)}/curves`, signal);

const extents = ({ rows, columns }: Where) => ({
  ...(rows ? { rows: rows.join(':') } : {}),
  ...(columns ? { columns: columns.join(':') } : {}),
});
const query = (asked: Record<string, string | number>) =>
  new URLSearchParams(Object.entries(asked).map(([name, value]) => [name, String(value)])).toString();
