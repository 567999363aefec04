import type { z } from 'zod';
import { conversationDetails, type AssistantMessage } from '../../runtime/contracts/api/assistant.ts';
import { answerFooter } from '../answer-text.ts';
import type { Commands } from '../command.ts';
import { defineKind } from '../kind.ts';
import { ago } from '../output.ts';

/** With its messages, except in a list. */
const schema = conversationDetails.partial({ messages: true });

const kind = defineKind<z.output<typeof schema>>({
  name: 'conversation',
  level: 'project',
  collection: 'assistant/conversations',
  schema,
  id: ({ id }) => id,
  examples: ['019a0000-0000-7000-8000-000000000001', '019a0000-0000-7000-8000-000000000002'],
  columns: (_, { now }) => [
    { title: 'TITLE', value: ({ title }) => title },
    { title: 'LAST MESSAGE', value: ({ updatedAt }) => ago(updatedAt, now) },
  ],
  details: ({ messages = [] }, { now }) =>
    messages.length === 0 ? 'no messages' : messages.map((message) => messageText(message, now)).join('\n\n'),
  help: {
    list: 'List your conversations with the assistant in a project, newest first.',
    show: 'Show one of your conversations with its answers.',
    delete: 'Delete conversations with their messages.',
  },
  immediate: true,
});

function messageText(message: AssistantMessage, now: Date): string {
  const { question, files, answer, createdAt, error, status } = message;
  const names = files.map(({ name }) => visible(name));
  const head = `${ago(createdAt, now)}: ${visible(question)}${names.length > 0 ? ` (${names.join(', ')})` : ''}`;
  const end = error?.error ?? (status === 'cancelled' ? 'The answer was cancelled.' : '');
  const footer = answerFooter(message).trimEnd();
  return [head, answer.trimEnd(), footer.trimStart(), end].filter((part) => part !== '').join('\n\n');
}

/** Text of several lines without characters that could rewrite the terminal or its order. */
function visible(text: string): string {
  return text.replaceAll(/[^\P{Cc}\n\t]|\p{Cf}/gu, ' ');
}

/** Without `create`: `svc ask` starts a conversation. */
export const conversationCommands: Commands = { commands: [kind.list, kind.show, kind.delete] };
