import type { Surroundings } from './context.ts';

/** What a text's colour warns of. */
export type Tone = 'warning' | 'danger';

/** Colours a text, or leaves it as it is. */
export type Paint = (text: string, tone: Tone | undefined) => string;

const codes: Readonly<Record<Tone, number>> = { warning: 33, danger: 31 };

/** No colours at all. */
export const plain: Paint = (text) => text;

/** Colours for people at a terminal who did not ask for none (https://no-color.org). */
export function paintFor({ stdout, env }: Pick<Surroundings, 'stdout' | 'env'>): Paint {
  if (stdout.isTTY !== true || env['NO_COLOR'] || env['TERM'] === 'dumb') return plain;
  return (text, tone) => (tone === undefined ? text : `\u001B[${codes[tone]}m${text}\u001B[39m`);
}
