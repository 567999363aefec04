import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import type { AnswerEvent, AssistantPage } from '../../../../runtime/contracts/api/assistant.ts';
import { request, requestLines } from '../api/client.ts';
import { assistantText } from '../text/assistant.ts';
import { newExchange, storedExchange, withEvent, type Exchange } from './exchange.ts';
import type { AttachedFile } from './files.ts';
import { assistantQuery, conversationsPath, conversationsQuery, readConversation } from './queries.ts';

interface Conversation {
  project: string;
  /** Absent until the first question. */
  id?: string;
  exchanges: readonly Exchange[];
}

export interface Question {
  project: string;
  text: string;
  files: readonly AttachedFile[];
  page: AssistantPage;
}

/** The last number of a key: a question has an id only once its answer is complete. */
let lastKey = 0;

/**
 * The conversation of the panel. It belongs to the project of its first question. Beginning or opening another one, and
 * leaving the panel for good, cancels the answer that is being written.
 */
export function useConversation() {
  const client = useQueryClient();
  const [conversation, setConversation] = useState<Conversation>();
  const running = useRef<AbortController>(undefined);
  useEffect(() => () => running.current?.abort(), []);

  const change = (key: string, apply: (exchange: Exchange) => Exchange | undefined) =>
    setConversation(
      (before) =>
        before && {
          ...before,
          exchanges: before.exchanges.flatMap((each) => (each.key === key ? (apply(each) ?? []) : [each])),
        },
    );

  /** Asks, and reads the answer. @throws ApiError for a question that was refused, which the conversation does not have */
  const ask = async ({ project, text, files, page }: Question): Promise<void> => {
    const controller = new AbortController();
    running.current = controller;
    const { signal } = controller;
    const key = `new ${(lastKey += 1)}`;
    const own = conversation?.project === project ? conversation : undefined;
    const before: Conversation = own ?? { project, exchanges: [] };
    setConversation({ ...before, exchanges: [...before.exchanges, newExchange(key, text, files)] });
    let hasBegun = false;
    try {
      const id =
        before.id ?? (await request<{ id: string }>(conversationsPath(project), { method: 'POST', signal })).id;
      setConversation((now) => (now?.exchanges.some((each) => each.key === key) ? { ...now, id } : now));
      const body = { text, files: files.map(({ name, content }) => ({ name, content })), page };
      const lines = requestLines<AnswerEvent>(conversationsPath(project, id, 'messages'), {
        method: 'POST',
        body,
        signal,
      });
      for await (const event of lines) {
        hasBegun = true;
        if (event) change(key, (exchange) => withEvent(exchange, event));
      }
      change(key, (exchange) => (exchange.status === 'answering' ? ended(exchange, signal) : exchange));
    } catch (error) {
      if (!signal.aborted && !hasBegun) {
        change(key, () => undefined);
        throw error;
      }
      change(key, (exchange) => ended(exchange, signal));
    } finally {
      if (running.current === controller) running.current = undefined;
      void client.invalidateQueries({ queryKey: conversationsQuery(project).queryKey });
      // A question can be refused because the provider was disabled meanwhile.
      void client.invalidateQueries({ queryKey: assistantQuery.queryKey });
    }
  };
  const asking = useMutation({ mutationFn: ask, gcTime: 0 });
  const opening = useMutation({
    mutationFn: async ({ project, id }: { project: string; id: string }) => {
      const { messages } = await readConversation(project, id);
      setConversation({ project, id, exchanges: messages.map(storedExchange) });
    },
    gcTime: 0,
  });
  const leave = () => {
    running.current?.abort();
    asking.reset();
    opening.reset();
  };

  return {
    conversation,
    isAnswering: asking.isPending,
    /** Why the last question, or opening a conversation, was refused. */
    error: asking.error ?? opening.error,
    ask: asking.mutateAsync,
    stop: () => running.current?.abort(),
    begin: () => {
      leave();
      setConversation(undefined);
    },
    open: (project: string, id: string) => {
      leave();
      return opening.mutateAsync({ project, id });
    },
  };
}

function ended(exchange: Exchange, { aborted }: AbortSignal): Exchange {
  if (aborted) return { ...exchange, status: 'cancelled' };
  return { ...exchange, status: 'failed', error: { code: 'unreachable', error: assistantText.brokeOff } };
}
