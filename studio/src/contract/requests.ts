// Requests as whoever waits for them sees them, wherever they go.

/** True where a request was given up by us: nothing to show. */
export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'AbortError';
}

/** `latest()` gives a signal and aborts the one it gave before: only the newest request counts. */
export function latest(): () => AbortSignal {
  let running: AbortController | null = null;
  return () => {
    running?.abort();
    running = new AbortController();
    return running.signal;
  };
}

/** What went wrong, as a sentence; null where we gave it up ourselves. */
export function sentenceOf(error: unknown): string | null {
  return isAbort(error) ? null : String((error as Error)?.message ?? error);
}
