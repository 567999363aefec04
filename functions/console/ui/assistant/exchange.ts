import type { AnswerEvent, AnswerSource, AssistantMessage } from '../../../../runtime/contracts/api/assistant.ts';

/** What an answer rests on. Of a log: the line and its pod, where the API knows them. */
export type Source = AnswerSource & { time?: string | undefined; pod?: string | undefined };

export type Prepared = AssistantMessage['prepared'][number];

/** A question with its answer, also while it is written. */
export interface Exchange extends Omit<AssistantMessage, 'id' | 'createdAt' | 'sources' | 'error'> {
  /** In the panel. */
  key: string;
  sources: readonly Source[];
  error?: { code: string; error: string } | undefined;
  /** Whether the answer was too long. */
  cut?: boolean;
}

/** A question that was just asked. */
export function newExchange(
  key: string,
  question: string,
  files: readonly { name: string; bytes: number }[],
): Exchange {
  const listed = files.map(({ name, bytes }) => ({ name, bytes }));
  return { key, question, files: listed, status: 'answering', answer: '', tools: [], prepared: [], sources: [] };
}

/** A question of a conversation that was opened again. Its answer is not written any further. */
export function storedExchange({ id, ...message }: AssistantMessage): Exchange {
  return { ...message, key: id };
}

/** The exchange after a further line of its answer. Lines of a newer platform change nothing. */
export function withEvent(exchange: Exchange, event: AnswerEvent): Exchange {
  switch (event.type) {
    case 'text':
      return { ...exchange, answer: exchange.answer + event.text };
    case 'tool':
      return { ...exchange, tools: [...exchange.tools, event] };
    case 'prepared':
      return { ...exchange, prepared: [...exchange.prepared, event] };
    case 'source':
      return { ...exchange, sources: [...exchange.sources, event] };
    case 'done':
      return { ...exchange, status: 'answered', cut: event.cut };
    case 'error':
      return { ...exchange, status: 'failed', error: { code: event.code, error: event.error } };
    default:
      return exchange;
  }
}
