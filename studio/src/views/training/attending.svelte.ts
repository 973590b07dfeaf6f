// The attention of one sentence at each checkpoint: looks are kept, so that the slider answers at once the second time.

import { getNumbers, isAbort, latest, postJson } from '../../contract/api';
import type { CheckpointInfo, Look, Numbers, SiteInfo } from '../../contract/types';

interface Watched {
  look: Look;
  numbers: Record<string, Numbers>;
}
export interface Question {
  run: string;
  checkpoint: string;
  text: string;
  target: string | null;
  site: string | null;
}

const KEPT = 64;

export class Attending {
  look = $state.raw<Look | null>(null);
  site = $state.raw<SiteInfo | null>(null);
  numbers = $state.raw<Numbers | null>(null);
  /** The checkpoint that is shown: while the slider moves on, still the one before. */
  checkpoint = $state('');
  busy = $state(false);
  error = $state('');
  again = $state(0);
  readonly #held = new Map<string, Watched>();
  readonly #next = latest();

  constructor(question: () => Question | null) {
    $effect(() => {
      const asked = question();
      void this.again;
      if (!asked) return;
      // The slider runs over many checkpoints: only the one it rests on is asked for.
      const known = this.#held.has(keyOf(asked));
      const timer = setTimeout(() => void this.#ask(asked, this.#next()), known ? 0 : 120);
      return () => clearTimeout(timer);
    });
    $effect(() => () => void this.#next());
  }

  async #ask(asked: Question, signal: AbortSignal): Promise<void> {
    this.busy = true;
    try {
      const watched = this.#held.get(keyOf(asked)) ?? (await this.#watch(asked, signal));
      const site = siteOf(watched.look, asked.site);
      const numbers = site && (await this.#weights(watched, site, signal));
      if (signal.aborted) return;
      this.look = watched.look;
      this.checkpoint = asked.checkpoint;
      this.site = site;
      this.numbers = numbers;
      this.error = '';
      this.busy = false;
    } catch (error) {
      if (isAbort(error)) return;
      this.#held.delete(keyOf(asked)); // the server may have let go of it
      this.error = (error as Error).message;
      this.busy = false;
    }
  }

  async #watch(asked: Question, signal: AbortSignal): Promise<Watched> {
    const { run, checkpoint, text, target } = asked;
    const body = target ? { checkpoint, text, target } : { checkpoint, text };
    const look = await postJson<Look>(`api/runs/${encodeURIComponent(run)}/looks`, body, signal);
    const watched = { look, numbers: {} };
    if (this.#held.size >= KEPT) this.#held.delete(this.#held.keys().next().value ?? '');
    this.#held.set(keyOf(asked), watched);
    return watched;
  }

  async #weights(watched: Watched, site: SiteInfo, signal: AbortSignal): Promise<Numbers> {
    const address = `api/looks/${watched.look.id}/weights?site=${encodeURIComponent(site.site)}&head=all`;
    return (watched.numbers[site.site] ??= await getNumbers(address, signal));
  }
}

const keyOf = ({ run, checkpoint, text, target }: Question): string =>
  JSON.stringify([run, checkpoint, text, target]);

/** The site asked for; else the last between the two sentences, else the last. */
export function siteOf(look: Look, name: string | null): SiteInfo | null {
  const cross = look.sites.filter((site) => site.kind === 'cross');
  return look.sites.find((site) => site.site === name) ?? cross.at(-1) ?? look.sites.at(-1) ?? null;
}

/** Where on the slider a step lies: the last checkpoint that is not behind it. */
export function checkpointAt(checkpoints: readonly CheckpointInfo[], step: number | null): number {
  if (step === null) return checkpoints.length - 1;
  let found = 0;
  checkpoints.forEach((one, index) => {
    if (one.step <= step) found = index;
  });
  return found;
}
