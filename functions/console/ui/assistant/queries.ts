import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import type { z } from 'zod';
import type {
  assistantView,
  conversationDetails,
  conversationView,
} from '../../../../runtime/contracts/api/assistant.ts';
import type { DeploymentView } from '../../../../runtime/contracts/api/apps.ts';
import { pathOf, request } from '../api/client.ts';
import { liveFor } from '../api/live.ts';
import type { List } from '../api/queries.ts';

export type AssistantView = z.infer<typeof assistantView>;
export type ConversationView = z.infer<typeof conversationView>;
type ConversationDetails = z.infer<typeof conversationDetails>;

const pageSize = 50;

/** The path of conversations below a project. */
export const conversationsPath = (project: string, ...below: readonly string[]): string =>
  pathOf('projects', project, 'assistant', 'conversations', ...below);

/** Whether there is an assistant, and what is sent to its provider. A change of the provider sends it again. */
export const assistantQuery = queryOptions({
  queryKey: ['platform', 'assistant', 'view'],
  queryFn: ({ signal }) => request<AssistantView>('/assistant', { signal }),
  refetchOnWindowFocus: true,
});

/** The conversations of the user in a project, newest first. */
export const conversationsQuery = (project: string) =>
  infiniteQueryOptions({
    queryKey: ['project', project, null, 'conversations'],
    queryFn: ({ signal, pageParam }) =>
      request<List<ConversationView>>(conversationsPath(project), {
        query: { limit: pageSize, cursor: pageParam },
        signal,
      }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ nextCursor }) => nextCursor,
  });

/** A conversation with its messages. */
export const readConversation = (project: string, id: string): Promise<ConversationDetails> =>
  request<ConversationDetails>(conversationsPath(project, id));

/** The app and the revision of a deployment, of which an answer knows the id. */
export const deploymentQuery = (project: string, id: string) =>
  queryOptions({
    queryKey: ['project', project, null, 'deployment', id],
    queryFn: ({ signal }) => request<DeploymentView>(pathOf('projects', project, 'deployments', id), { signal }),
    ...liveFor('Deployment'),
  });
