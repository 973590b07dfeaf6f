// The runs of the folder and the curves of one of them, asked for again while they grow.

import { untrack } from 'svelte';
import { getJson, isAbort, latest } from '../../contract/api';
import type { CurvesAnswer, RunInfo, StudioInfo } from '../../contract/types';
import type { Address } from '../../state/address.svelte';
import { firstRun, isRunning } from './runs';

const SOON = 3_000; // milliseconds, while a run goes on
const LATER = 15_000;

export class Watching {
  runs = $state.raw<RunInfo[]>([]);
  curves = $state.raw<CurvesAnswer | null>(null);
  loaded = $state(false);
  error = $state('');
  readonly #nextRuns = latest();
  readonly #nextCurves = latest();

  constructor(
    private readonly address: Address,
    private readonly studio: () => StudioInfo,
  ) {
    this.runs = studio().runs;
    $effect(() => {
      const name = this.name;
      // curves that arrive must not start this anew: it asks for them
      if (untrack(() => this.curves)?.run.name !== name) this.curves = null;
      let timer: ReturnType<typeof setTimeout> | undefined;
      let ended = false;
      const tick = async () => {
        if (!document.hidden) await this.refresh(name);
        if (!ended) timer = setTimeout(tick, this.runs.some(isRunning) ? SOON : LATER);
      };
      const shown = () => {
        if (document.hidden) return;
        clearTimeout(timer);
        void tick();
      };
      void tick();
      document.addEventListener('visibilitychange', shown);
      return () => {
        ended = true;
        clearTimeout(timer);
        document.removeEventListener('visibilitychange', shown);
        void this.#nextCurves();
        void this.#nextRuns();
      };
    });
  }

  readonly shipped = $derived.by(
    () =>
      new Set(
        this.studio()
          .models.filter((model) => model.kind === 'ships')
          .map((model) => model.name),
      ),
  );
  /** The run in the address, else the one that most likely is wanted. */
  readonly name = $derived.by(
    () => this.address.params.run ?? firstRun(this.runs, this.shipped)?.name ?? null,
  );
  readonly own = $derived.by(() => this.runs.filter((run) => !this.shipped.has(run.name)));

  async refresh(name: string | null): Promise<void> {
    try {
      this.runs = await getJson<RunInfo[]>('api/runs', this.#nextRuns());
      this.loaded = true;
      if (!name) return;
      this.curves = await getJson<CurvesAnswer>(
        `api/runs/${encodeURIComponent(name)}/curves`,
        this.#nextCurves(),
      );
      this.error = '';
    } catch (error) {
      if (!isAbort(error)) this.error = (error as Error).message;
    }
  }
}
