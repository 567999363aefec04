/** The severity that a colour shows. */
export type Tone = 'warning' | 'danger';

/** Colours a text, or returns it unchanged. */
export type Paint = (text: string, tone: Tone | undefined) => string;

const codes: Readonly<Record<Tone, number>> = { warning: 33, danger: 31 };

/** Applies no colours. */
export const plain: Paint = (text) => text;

/** Colours for a terminal, unless `NO_COLOR` is set (https://no-color.org). */
export function paintFor({
  stdout,
  env,
}: {
  stdout: { isTTY?: boolean };
  env: Readonly<Record<string, string | undefined>>;
}): Paint {
  if (stdout.isTTY !== true || env['NO_COLOR'] || env['TERM'] === 'dumb') return plain;
  return (text, tone) => (tone === undefined ? text : `\u001B[${codes[tone]}m${text}\u001B[39m`);
}
