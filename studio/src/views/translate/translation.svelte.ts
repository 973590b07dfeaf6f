// What the page knows: the search for a text, the look at what it found, and the weights that are asked for.

import { getNumbers, isAbort, latest, postJson } from '../../contract/api';
import type {
  Look,
  ModelInfo,
  Numbers,
  SearchAnswer,
  SearchRequest,
  StudioInfo,
  TypedAnswer,
} from '../../contract/types';
import type { Address } from '../../state/address.svelte';
import { untrack } from 'svelte';
import { closestCall, firstModel, headChoice, layersOf, readIds, rowLook, type RowLook } from './looks';

const KEPT = 64; // maps

export class Translation {
  search = $state.raw<SearchAnswer | null>(null);
  look = $state.raw<Look | null>(null);
  busy = $state(false);
  error = $state('');
  failed = $state(false); // what is kept is the translation of something else
  again = $state(0);
  #weights = $state.raw<Record<string, Numbers>>({});
  #undo: string[] = []; // what was forced before, in this visit
  readonly #nextSearch = latest();
  readonly #nextTyped = latest();

  constructor(
    private readonly address: Address,
    private readonly info: () => StudioInfo,
  ) {
    $effect(() => {
      const asked = this.#asked;
      void this.again;
      const signal = this.#nextSearch();
      if (asked) void this.#translate(JSON.parse(asked) as SearchRequest, signal);
      else this.#rest();
    });
    $effect(() => {
      const { look, layer } = this;
      if (!look || !layer) return;
      const stop = new AbortController();
      for (const site of [layer.cross, layer.own]) {
        if (site) void this.#fetch(look.id, site.site, stop.signal);
      }
      return () => stop.abort();
    });
    $effect(() => () => void this.#nextSearch());
  }

  readonly models = $derived.by(() => this.info().models.filter((one) => one.task === 'translate'));
  readonly model = $derived.by((): ModelInfo | null => {
    const { params } = this.address;
    if (params.model) return this.models.find((one) => one.name === params.model) ?? null;
    return firstModel(this.info());
  });
  readonly text = $derived.by(() => this.address.params.text ?? this.model?.examples[0] ?? '');
  readonly beams = $derived.by(() => {
    const beams = Math.round(Number(this.address.params.beams ?? 4));
    return beams >= 1 && beams <= 8 ? beams : 4;
  });
  readonly prefix = $derived.by(() => readIds(this.address.params.prefix));
  /** The positions where a person put the word. */
  readonly forced = $derived.by(() => {
    const positions = readIds(this.address.params.forced).filter((at) => at < this.prefix.length);
    return positions.length || !this.prefix.length ? positions : [this.prefix.length - 1];
  });

  readonly #asked = $derived.by(() => {
    const { model, beams, prefix } = this;
    const text = this.text.trim();
    return model && text ? JSON.stringify({ model: model.name, text, beams, prefix }) : '';
  });

  // Words and their probabilities.
  readonly probabilities = $derived.by(() => {
    const { search } = this;
    if (!search) return [];
    const logprobs = new Map(
      search.steps.flatMap(({ candidates }) => candidates.map((one) => [one.id, one.logprob])),
    );
    return search.path.map((id) => Math.exp(logprobs.get(id) ?? NaN));
  });
  readonly count = $derived.by(() => this.search?.ids.length ?? 0);
  /** As the address has it: 0 where the whole is shown. */
  readonly step = $derived.by(() => {
    const step = Number(this.address.params.step);
    return Number.isInteger(step) && step >= 1 ? Math.min(step, this.count) : 0;
  });
  /** The position that is explained; where none is chosen, what was forced last or the closest call. */
  readonly focus = $derived.by(() => {
    if (this.step) return this.step - 1;
    const last = this.forced[this.forced.length - 1];
    return last !== undefined && last < this.count
      ? last
      : this.search
        ? closestCall(this.search.top, this.search.tokens)
        : 0;
  });

  /** The token of the source that a person picked; null where none is. */
  readonly picked = $derived.by(() => {
    const index = Number(this.address.params.source ?? NaN);
    return Number.isInteger(index) && index >= 0 && index < (this.look?.source.length ?? 0) ? index : null;
  });

  /** Pick a token of the source; let it go where it is picked already. */
  pickSource(index: number): void {
    this.address.set({ source: this.picked === index ? null : index }, { push: true });
  }

  /** To the step that wrote this token, and from a token of the source back to it. */
  pickStep(index: number): void {
    this.address.set({ step: index + 1, source: null, node: null }, { push: true });
  }

  // What was looked at.
  readonly layers = $derived.by(() => (this.look ? layersOf(this.look) : []));
  readonly alignment = $derived.by(() => this.look?.alignment ?? null);
  /** Unless one is chosen, the layer in which words are aligned; the last where that is not known. */
  readonly usualLayer = $derived.by(() => {
    const aligned = this.layers.findIndex((layer) => layer.cross.site === this.alignment?.site);
    return aligned < 0 ? this.layers.length - 1 : aligned;
  });
  readonly layerIndex = $derived.by(() => {
    const asked = Number(this.address.params.layer ?? NaN);
    return Number.isInteger(asked) && this.layers[asked] ? asked : this.usualLayer;
  });
  readonly layer = $derived.by(() => this.layers[this.layerIndex] ?? null);
  readonly usualHeads = $derived.by(() =>
    this.layer && this.layer.cross.site === this.alignment?.site ? this.alignment.heads : [],
  );
  readonly head = $derived.by(() =>
    headChoice(this.address.params.head, this.layer?.cross.heads ?? 0, this.usualHeads),
  );
  readonly ownHead = $derived.by(() => headChoice(this.address.params.own, this.layer?.own?.heads ?? 0));
  readonly cross = $derived.by(() => this.weights(this.layer?.cross.site));
  readonly own = $derived.by(() => this.weights(this.layer?.own?.site));

  readonly crossRow = $derived.by(
    (): RowLook | null => this.cross && rowLook(this.cross, this.focus, this.head),
  );
  readonly ownRow = $derived.by(
    (): RowLook | null => this.own && rowLook(this.own, this.focus, this.ownHead),
  );

  weights(site: string | undefined): Numbers | null {
    return (this.look && site && this.#weights[`${this.look.id}/${site}`]) || null;
  }

  /** Say this at that position, and go on from there. */
  force(position: number, token: number): void {
    if (!this.search) return;
    const forced = [...this.forced.filter((at) => at < position), position];
    this.#change([...this.search.ids.slice(0, position), token], forced);
  }

  /** Say these words at that position; gives why it cannot be, where it cannot. */
  async type(position: number, words: string): Promise<string> {
    const { model, search } = this;
    if (!model || !search) return '';
    const asked = {
      model: model.name,
      words,
      prefix: search.ids.slice(0, position),
      instead: search.ids[position],
    };
    const signal = this.#nextTyped();
    try {
      const { ids, unchanged } = await postJson<TypedAnswer>('api/typed', asked, signal);
      if (this.search !== search) return ''; // something else was asked meanwhile
      const typed = ids.map((_, index) => index).slice(unchanged);
      this.#change(ids, [...this.forced.filter((at) => at < unchanged), ...typed]);
      return '';
    } catch (error) {
      return isAbort(error) ? '' : (error as Error).message;
    }
  }

  /** Go on from a candidate that was given up. */
  follow(ids: readonly number[]): void {
    const position = ids.findIndex((id, index) => id !== this.search?.ids[index]);
    if (position < 0) return;
    this.#change(ids, [...this.forced.filter((at) => at < position), ids.length - 1]);
  }

  undo(): void {
    const before = this.#undo.pop();
    if (before !== undefined) {
      const [prefix, forced] = before.split(';');
      this.address.set(
        { prefix: prefix || null, forced: forced || null, step: null, node: null },
        { push: true },
      );
      return;
    }
    const positions = this.forced.slice(0, -1);
    const last = positions[positions.length - 1];
    const prefix = last === undefined ? null : this.prefix.slice(0, last + 1).join(',');
    this.address.set({ prefix, forced: positions.join(',') || null, step: null, node: null }, { push: true });
  }

  /** Another text, model or number of beams: what was forced belonged to the old ones. */
  choose(changes: Record<string, string | number | null>, push = true): void {
    this.#undo = [];
    const fresh = { prefix: null, forced: null, step: null, node: null, source: null };
    this.address.set({ ...fresh, ...changes }, { push });
  }

  #change(prefix: readonly number[], forced: readonly number[]): void {
    this.#undo.push(`${this.prefix.join(',')};${this.forced.join(',')}`);
    const changes = { prefix: prefix.join(','), forced: forced.join(','), step: null, node: null };
    this.address.set(changes, { push: true });
  }

  /** Nothing is asked: what was on its way or went wrong was about another text. */
  #rest(): void {
    this.busy = false;
    this.error = '';
  }

  async #translate(asked: SearchRequest, signal: AbortSignal): Promise<void> {
    this.busy = true;
    try {
      const search = await postJson<SearchAnswer>('api/searches', asked, signal);
      const { ids } = search;
      const said = { model: asked.model, text: asked.text, target_ids: ids };
      const look = ids.length ? postJson<Look>('api/looks', said, signal) : null;
      const [found] = await Promise.allSettled([look]);
      if (signal.aborted) return;
      this.search = search;
      this.failed = false;
      this.look = found.status === 'fulfilled' ? found.value : null;
      this.error = found.status === 'fulfilled' ? '' : (found.reason as Error).message;
      this.busy = false;
    } catch (error) {
      if (isAbort(error)) return; // a newer one is on its way
      this.failed = true;
      this.error = (error as Error).message;
      this.busy = false;
    }
  }

  async #fetch(look: string, site: string, signal: AbortSignal): Promise<void> {
    const key = `${look}/${site}`;
    if (untrack(() => this.#weights)[key]) return;
    const address = `api/looks/${look}/weights?site=${encodeURIComponent(site)}&head=all`;
    try {
      const numbers = await getNumbers(address, signal);
      const held = Object.entries(this.#weights).slice(-KEPT);
      this.#weights = Object.fromEntries([...held, [key, numbers]]);
    } catch (error) {
      if (!isAbort(error)) this.error = (error as Error).message;
    }
  }
}
