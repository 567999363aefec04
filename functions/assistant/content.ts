import type { AnswerPart } from '../../runtime/assistant/answer.ts';
import type { AssistantMessage } from '../../runtime/contracts/api/assistant.ts';
import { assistantTextContext } from '../../runtime/domain/assistant.ts';
import { seal, unseal, type KeyRing } from '../../runtime/domain/sealed.ts';
import type { Conversation, ConversationMessage } from '../../runtime/records/assistant-conversations.ts';

/** What is stored of a message, sealed. */
export type MessageContent = Omit<AssistantMessage, 'id' | 'status' | 'createdAt'>;

/** Characters of a title. */
const titleMax = 80;

/** A question without an answer yet. */
export function newContent(question: string, files: readonly { name: string; bytes: number }[]): MessageContent {
  const listed = files.map(({ name, bytes }) => ({ name, bytes }));
  return { question, files: listed, answer: '', tools: [], prepared: [], sources: [] };
}

/** Adds a line of the answer. */
export function addPart(content: MessageContent, part: AnswerPart): void {
  if (part.type === 'text') content.answer += part.text;
  else if (part.type === 'error') content.error = { code: part.code, error: part.error };
  else if (part.type === 'tool') content.tools.push({ tool: part.tool, names: part.names, refused: part.refused });
  else if (part.type === 'prepared') {
    const { type: _, ...prepared } = part;
    content.prepared.push(prepared);
  } else if (part.type === 'source') {
    const { type: _, ...source } = part;
    content.sources.push(source);
  }
}

/** In place of a text whose encryption key was removed. */
const unreadable = '(cannot be read: its encryption key was removed)';

/** Seals the texts of conversations. Each is bound to its record. */
export function createTexts(keyRing: KeyRing) {
  const sealText = (id: string, text: string) => seal(keyRing, assistantTextContext(id), text);
  const open = (id: string, sealed: string): string | undefined => {
    try {
      return unseal(keyRing, assistantTextContext(id), sealed);
    } catch {
      return undefined;
    }
  };
  return {
    sealTitle: (id: string, question: string) =>
      sealText(id, question.trim().replaceAll(/\s+/g, ' ').slice(0, titleMax).toWellFormed()),
    sealContent: (id: string, content: MessageContent) => sealText(id, JSON.stringify(content)),
    openContent({ id, content }: ConversationMessage): MessageContent {
      const text = open(id, content);
      return text === undefined ? newContent(unreadable, []) : (JSON.parse(text) as MessageContent);
    },
    toView: ({ id, title, createdAt, updatedAt }: Conversation) => ({
      id,
      title: title === null ? '' : (open(id, title) ?? unreadable),
      createdAt: createdAt.toISOString(),
      updatedAt: updatedAt.toISOString(),
    }),
  };
}

export type Texts = ReturnType<typeof createTexts>;
