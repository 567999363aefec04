import type { Offered } from '../functions/offered.ts';
import type { Block, Span } from './answer-text.ts';

const languages: Readonly<Record<string, 'node' | 'python'>> = {
  js: 'node',
  javascript: 'node',
  mjs: 'node',
  cjs: 'node',
  node: 'node',
  py: 'python',
  python: 'python',
};

/** The first two fields have no names, so that no command of five short words is one. */
const cron = /^[\d*][\d*,/-]{0,40}( [\d*][\d*,/-]{0,40}){2}( [\dA-Za-z*][\dA-Za-z*,/-]{0,40}){2}$/;

/** What of an answer fits the form of a function: its first code with a handler, and its first schedule. Pure. */
export function offerIn(blocks: readonly Block[]): Offered | undefined {
  let offered: Offered | undefined;
  for (const block of blocks) {
    const runtime = block.kind === 'code' ? languages[block.language] : undefined;
    if (block.kind === 'code' && runtime && offered?.code === undefined && /\bhandler\b/.test(block.text)) {
      offered = { ...offered, runtime, code: `${block.text}\n` };
    }
    const schedule = codeOf(block).find((text) => cron.test(text.trim()));
    if (schedule !== undefined && offered?.schedule === undefined) {
      offered = { ...offered, trigger: 'cron', schedule: schedule.trim() };
    }
  }
  return offered;
}

function codeOf(block: Block): string[] {
  if (block.kind === 'code') return [block.text];
  const lines: Span[][] = block.kind === 'list' ? block.items.flat() : block.lines;
  return lines.flat().flatMap(({ kind, text }) => (kind === 'code' ? [text] : []));
}
