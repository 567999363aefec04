import { createInterface } from 'node:readline/promises';
import { text } from 'node:stream/consumers';
import { Writable } from 'node:stream';
import type { Context } from './context.ts';
import { Failure, usageFailure } from './failure.ts';

/** Asks a person on stderr. @throws Failure (usage) when nobody is there; `instead` says what to give then */
export async function ask(context: Context, question: string, instead: string): Promise<string> {
  return readAnswer(context, question, instead, false);
}

/** As {@link ask}, without showing what is typed. */
export async function askHidden(context: Context, question: string, instead: string): Promise<string> {
  return readAnswer(context, question, instead, true);
}

async function readAnswer(context: Context, question: string, instead: string, hidden: boolean): Promise<string> {
  const { stdin, stderr } = context;
  if (!stdin.isTTY) throw usageFailure(`There is nobody to ask for: ${question}`, instead);
  const prompt = `${question}: `;
  // readline echoes what is typed to its output, the prompt with it.
  if (hidden) stderr.write(prompt);
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const reader = createInterface({ input: stdin, output: hidden ? nowhere : stderr, terminal: true });
  const interrupted = new Promise<never>((_resolve, reject) => {
    // Ctrl-C and Ctrl-D.
    for (const event of ['SIGINT', 'close']) reader.once(event, () => reject(new Failure('Interrupted.')));
  });
  try {
    return await Promise.race([reader.question(hidden ? '' : prompt), interrupted]);
  } finally {
    reader.close();
    if (hidden) stderr.write('\n');
  }
}

/** Everything on stdin, without the line end that files and `echo` add. */
export async function readStdin(context: Context): Promise<string> {
  return withoutLineEnd(await text(context.stdin));
}

/** A text without one line end at its end. */
export function withoutLineEnd(content: string): string {
  return content.replace(/\r?\n$/, '');
}

/** Goes on only when a person agrees or `--yes` was given. @throws Failure */
export async function confirm(context: Context, flags: { yes: boolean }, what: string): Promise<void> {
  if (flags.yes) return;
  const answer = await ask(context, `${what} [y/N]`, 'give --yes to go on without a question');
  if (!/^y(es)?$/i.test(answer.trim())) throw new Failure('Nothing was changed.', { code: 'not_confirmed' });
}

/** Goes on only when a person types the name of what is lost, or `--yes` was given. @throws Failure */
export async function confirmName(
  context: Context,
  flags: { yes: boolean },
  what: string,
  name: string,
): Promise<void> {
  if (flags.yes) return;
  const answer = await ask(context, `${what}. Type ${name} to go on`, 'give --yes to go on without a question');
  if (answer.trim() !== name) throw new Failure('Nothing was changed.', { code: 'not_confirmed' });
}
