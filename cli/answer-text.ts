import type { AnswerSource, AssistantMessage } from '../runtime/contracts/api/assistant.ts';

/** What an answer rests on and the commands that the assistant has prepared, as text after the answer. */
export function answerFooter({ sources, prepared }: Pick<AssistantMessage, 'sources' | 'prepared'>): string {
  const list = (title: string, lines: readonly string[]) =>
    lines.length === 0 ? '' : `\n${title}:\n${[...new Set(lines)].map((line) => `  ${line}\n`).join('')}`;
  return (
    list('Based on', sources.map(sourceText)) +
    list(
      'Prepared, not run',
      prepared.map(({ command }) => command),
    )
  );
}

function sourceText({ kind, name, environment, of, time, command }: AnswerSource): string {
  const place = environment === undefined ? '' : ` in ${environment}`;
  const object = of === undefined ? `${kind} ${name}` : `${kind} of the ${of} ${name}`;
  const line = time === undefined ? '' : ` at ${time}`;
  return `${object}${place}${line}${command === undefined ? '' : `: ${command}`}`;
}
