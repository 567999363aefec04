import { sentAtLevel } from '../../runtime/assistant/data-levels.ts';
import { assistantLevels, assistantLimits, includesLevel } from '../../runtime/domain/assistant.ts';
import { newId } from '../../runtime/domain/ids.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { transaction } from '../../runtime/db/pool.ts';
import { pageOfRows } from '../../runtime/http/page.ts';
import { projectIdOf, route, sessionOf, type Route, type RouteRequest } from '../../runtime/http/route.ts';
import { findAssistantProvider } from '../../runtime/records/assistant.ts';
import {
  deleteConversation,
  findConversation,
  insertConversation,
  listConversations,
  listMessages,
  type ConversationOwner,
} from '../../runtime/records/assistant-conversations.ts';
import { createTexts } from './content.ts';
import { createAsk } from './ask.ts';
import type { AssistantDependencies } from './dependencies.ts';
import {
  askSchema,
  createConversationSchema,
  deleteConversationSchema,
  listConversationsSchema,
  showAssistantSchema,
  showConversationSchema,
} from './schema.ts';

const tag = 'assistant';
const conversations = '/projects/:project/assistant/conversations';
// No access token: a conversation belongs to a person, and tools for programs are at `/mcp`.
const access = { project: 'viewer' } as const;

/** `/assistant` and the conversations of users with it (docs/decisions/0078-assistant.md). */
export function createAssistantRoutes(dependencies: AssistantDependencies): Route[] {
  const { pool, keyRing } = dependencies;
  const texts = createTexts(keyRing);
  const ask = createAsk(dependencies, texts);

  return [
    route({
      ...showAssistantSchema,
      method: 'GET',
      path: '/assistant',
      access: 'session',
      tag,
      summary: 'Shows whether there is an assistant, to whom it sends what, and its limits.',
      async handle() {
        const provider = await findAssistantProvider(pool);
        const { fileBytes, messageBytes, files, questionLength } = assistantLimits;
        const limits = { fileBytes, messageBytes, files, questionLength };
        if (!provider) return { status: 200, body: { available: false, sends: [], limits } };
        const { url, model, level, networks, messagesPerHour } = provider;
        return {
          status: 200,
          body: {
            available: true,
            model,
            // Members do not learn hosts of private networks.
            ...(networks.length === 0 && { host: new URL(url).host }),
            level,
            sends: assistantLevels.filter((each) => includesLevel(level, each)).flatMap((each) => sentAtLevel[each]),
            limits: { ...limits, messagesPerHour },
          },
        };
      },
    }),
    route({
      ...createConversationSchema,
      method: 'POST',
      path: conversations,
      access,
      tag,
      summary:
        'Begins a conversation with the assistant. Beyond 100, the oldest of the user in the project is deleted.',
      async handle(request) {
        const id = newId();
        const owner = ownerOf(request);
        const created = await transaction(pool, (client) =>
          insertConversation(client, id, owner, assistantLimits.conversations),
        );
        return { status: 201, body: texts.toView(created) };
      },
    }),
    route({
      ...listConversationsSchema,
      method: 'GET',
      path: conversations,
      access,
      tag,
      summary: 'Lists the caller’s conversations with the assistant that have a message, newest first.',
      async handle(request) {
        const { limit, cursor } = request.query;
        const rows = await listConversations(pool, ownerOf(request), { limit: limit + 1, before: cursor });
        const body = pageOfRows(rows, limit, { cursorOf: ({ id }) => id, toItem: (row) => texts.toView(row) });
        return { status: 200, body };
      },
    }),
    route({
      ...showConversationSchema,
      method: 'GET',
      path: `${conversations}/:conversation`,
      access,
      tag,
      summary: 'Shows one of the caller’s conversations with its messages.',
      async handle(request) {
        const conversation =
          (await findConversation(pool, request.params.conversation, ownerOf(request))) ?? noConversation();
        const rows = await listMessages(pool, conversation.id);
        const messages = rows.map((row) => ({
          ...texts.openContent(row),
          id: row.id,
          status: row.state,
          createdAt: row.createdAt.toISOString(),
        }));
        return { status: 200, body: { ...texts.toView(conversation), messages } };
      },
    }),
    route({
      ...deleteConversationSchema,
      method: 'DELETE',
      path: `${conversations}/:conversation`,
      access,
      tag,
      summary: 'Deletes one of the caller’s conversations.',
      async handle(request) {
        if (!(await deleteConversation(pool, request.params.conversation, ownerOf(request)))) noConversation();
        return { status: 204 };
      },
    }),
    route({
      ...askSchema,
      method: 'POST',
      path: `${conversations}/:conversation/messages`,
      access,
      tag,
      summary: 'Asks the assistant, and streams its answer as JSON lines. Disconnecting cancels it.',
      audit: 'assistant.ask',
      async handle(request) {
        const conversation =
          (await findConversation(pool, request.params.conversation, ownerOf(request))) ?? noConversation();
        return ask(request, conversation);
      },
    }),
  ];
}

function ownerOf(request: RouteRequest<unknown, unknown, unknown>): ConversationOwner {
  return { userId: sessionOf(request).userId, projectId: projectIdOf(request) };
}

function noConversation(): never {
  throw new Problem('not_found', 'You have no such conversation in this project.');
}
