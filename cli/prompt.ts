import { text } from 'node:stream/consumers';
import { Writable } from 'node:stream';
import type { Context } from './context.ts';
import { exitCodes, Failure, usageFailure } from './failure.ts';

/** Prompts on stderr. @param instead the hint without a terminal @throws Failure (usage) without a terminal */
export async function ask(context: Context, question: string, instead: string): Promise<string> {
  return readAnswer(context, question, instead, false);
}

/** Like {@link ask}, without echoing the input. */
export async function askHidden(context: Context, question: string, instead: string): Promise<string> {
  return readAnswer(context, question, instead, true);
}

/** What was typed after the answer to a question: whole lines, and the beginning of another. */
interface TypedAhead {
  lines: string[];
  rest: string;
}

/** What the next question of each terminal begins with: readline reads ahead, and would lose it when it closes. */
const typedAhead = new WeakMap<Context['stdin'], TypedAhead>();

async function readAnswer(context: Context, question: string, instead: string, hidden: boolean): Promise<string> {
  const { stdin, stderr } = context;
  if (!stdin.isTTY) throw usageFailure(`Cannot prompt without a terminal: ${question}`, instead);
  // Most commands ask nothing.
  const { createInterface } = await import('node:readline/promises');
  const prompt = `${question}: `;
  const { lines, rest } = typedAhead.get(stdin) ?? { lines: [], rest: '' };
  const next = lines.shift();
  if (next !== undefined) {
    stderr.write(`${prompt}${hidden ? '' : next}\n`);
    return next;
  }
  // readline echoes the input to its output, which also gets the prompt.
  if (hidden) stderr.write(prompt);
  const discard = new Writable({ write: (_chunk, _encoding, done) => done() });
  const reader = createInterface({ input: stdin, output: hidden ? discard : stderr, terminal: true });
  const interrupted = new Promise<never>((_resolve, reject) => {
    // Ctrl-C and Ctrl-D.
    for (const event of ['SIGINT', 'close']) reader.once(event, () => reject(interruption()));
  });
  try {
    const answer = reader.question(hidden ? '' : prompt);
    reader.on('line', (line) => lines.push(line));
    if (rest !== '') reader.write(rest);
    return await Promise.race([answer, interrupted]);
  } finally {
    typedAhead.set(stdin, { lines, rest: reader.line });
    reader.close();
    if (hidden) stderr.write('\n');
  }
}

function interruption(): Failure {
  return new Failure('Interrupted.', { code: 'interrupted', exitCode: exitCodes.interrupted });
}

/** All of stdin, without one trailing line end. */
export async function readStdin(context: Context): Promise<string> {
  return withoutLineEnd(await text(context.stdin));
}

/** A text without one trailing line end. */
export function withoutLineEnd(content: string): string {
  return content.replace(/\r?\n$/, '');
}

/** Asks for confirmation unless `--yes` is given. @throws Failure `not_confirmed` */
export async function confirm(context: Context, flags: { yes: boolean }, question: string): Promise<void> {
  if (flags.yes) return;
  const answer = await ask(context, `${question} [y/N]`, 'pass --yes to skip the confirmation');
  if (!/^y(es)?$/i.test(answer.trim())) throw new Failure('Nothing was changed.', { code: 'not_confirmed' });
}

/** Asks the user to type the name of what is deleted unless `--yes` is given. @throws Failure `not_confirmed` */
export async function confirmName(
  context: Context,
  flags: { yes: boolean },
  warning: string,
  name: string,
): Promise<void> {
  if (flags.yes) return;
  const answer = await ask(context, `${warning}. Type ${name} to confirm`, 'pass --yes to skip the confirmation');
  if (answer.trim() !== name) throw new Failure('Nothing was changed.', { code: 'not_confirmed' });
}
