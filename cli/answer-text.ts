import type { AnswerSource, AssistantMessage } from '../runtime/contracts/api/assistant.ts';

/** What an answer rests on and the commands that the assistant has prepared, as text after the answer. */
export function answerFooter({ sources, prepared }: Pick<AssistantMessage, 'sources' | 'prepared'>): string {
  const list = (title: string, lines: readonly string[]) =>
    lines.length === 0 ? '' : `\n${title}:\n${[...new Set(lines)].map(entryOf).join('')}`;
  return (
    list('Based on', sources.map(sourceText)) +
    list(
      'Prepared, not run',
      prepared.map(({ command }) => command),
    )
  );
}

/** A command with its input begins at the start of a line, so that a shell finds the end of the input. */
const entryOf = (line: string): string => (line.includes('\n') ? `${line}\n` : `  ${line}\n`);

function sourceText({ kind, name, environment, of, time, command }: AnswerSource): string {
  const place = environment === undefined ? '' : ` in ${environment}`;
  const object = of === undefined ? `${kind} ${name}` : `${kind} of the ${of} ${name}`;
  const line = time === undefined ? '' : ` at ${time}`;
  return `${object}${place}${line}${command === undefined ? '' : `: ${command}`}`;
}
