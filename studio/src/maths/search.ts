// Where a text says something, token by token: whatever the case, and wherever tokens are cut. As `text_search.py` has it.

const MOST = 1000; // matches that are told

/** The position of the first token of each match; spaces do not count, since tokenizers show them differently. */
export function foundPositions(
  tokens: readonly string[],
  wanted: string,
): { positions: number[]; more: boolean } {
  const plain = (text: string) => text.replace(/\s/g, '').toLowerCase();
  const needle = plain(wanted);
  const starts = [0];
  let whole = '';
  for (const token of tokens) {
    whole += plain(token);
    starts.push(whole.length);
  }
  const positions: number[] = [];
  let token = 0;
  for (
    let at = needle ? whole.indexOf(needle) : -1;
    at >= 0 && positions.length <= MOST;
    at = whole.indexOf(needle, at + 1)
  ) {
    while (starts[token + 1] <= at) token++;
    if (positions.at(-1) !== token) positions.push(token);
  }
  return { positions: positions.slice(0, MOST), more: positions.length > MOST };
}
