import type { SealContext } from './sealed.ts';

/**
 * What the assistant may send to its provider. Each level includes those before it: the names of objects, their state,
 * what apps, functions and jobs print.
 */
export const assistantLevels = ['names', 'state', 'logs'] as const;

export type AssistantLevel = (typeof assistantLevels)[number];

/** Whether a level includes another one. */
export function includesLevel(level: AssistantLevel, needed: AssistantLevel): boolean {
  return assistantLevels.indexOf(level) >= assistantLevels.indexOf(needed);
}

/** The limits of one message to the assistant, and of its answer. */
export const assistantLimits = {
  /** Of one file, in bytes. */
  fileBytes: 256 * 1024,
  /** Of the text and all files of a message, in bytes. */
  messageBytes: 1024 * 1024,
  files: 20,
  /** Of the text of a message, in characters. */
  questionLength: 8_000,
  /** Requests to the provider for one answer. */
  steps: 6,
  /** Duration of an answer. */
  seconds: 120,
  /** Of an answer, in characters. */
  answerLength: 32_000,
  /** Conversations that are kept of a user in a project, the newest. */
  conversations: 100,
  /** Messages of a conversation. */
  messages: 50,
  /** Days after its last message for which a conversation is kept. */
  days: 30,
} as const;

/** Defaults of the settings. */
export const assistantDefaults = { level: 'names', messagesPerHour: 30, tokensPerDay: 2_000_000 } as const;

/** The part of the tokens of a day that one user can use. */
export const assistantUserShare = 0.5;

/** What the sealed key of a provider is bound to: with another address, it cannot be opened. */
export function assistantKeyContext(url: string): SealContext {
  return { id: url, purpose: 'assistant-key' };
}

/** What a sealed text of a conversation is bound to. @param id of the conversation, or of the message */
export function assistantTextContext(id: string): SealContext {
  return { id, purpose: 'assistant-text' };
}

/** The address of an OpenAI-compatible server without slashes at its end, such as `https://api.openai.com/v1`. */
export function assistantUrl(url: URL): string {
  const full = new URL(url);
  full.hash = '';
  full.search = '';
  let { href } = full;
  while (href.endsWith('/')) href = href.slice(0, -1);
  return href;
}
