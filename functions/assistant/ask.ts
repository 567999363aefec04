import type { z } from 'zod';
import { answer, type AnswerDependencies } from '../../runtime/assistant/answer.ts';
import { readAttachments } from '../../runtime/assistant/attachments.ts';
import { openProvider } from '../../runtime/assistant/stored-provider.ts';
import { streamReply } from '../../runtime/api/log-reply.ts';
import { createUserPlaces } from '../../runtime/api/user-places.ts';
import type { AnswerEvent, assistantQuestion } from '../../runtime/contracts/api/assistant.ts';
import { transaction } from '../../runtime/db/pool.ts';
import { assistantLimits, assistantUserShare } from '../../runtime/domain/assistant.ts';
import { newId, type Id } from '../../runtime/domain/ids.ts';
import { dayMs, periodStart } from '../../runtime/domain/period.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { actorOf, sessionOf, type AuditFields, type RouteReply, type RouteRequest } from '../../runtime/http/route.ts';
import {
  countAssistantMessage,
  countAssistantTokens,
  findAssistantProvider,
  readAssistantTokens,
  type AssistantProvider,
} from '../../runtime/records/assistant.ts';
import {
  endMessage,
  insertMessage,
  listMessages,
  type Conversation,
  type ConversationMessage,
} from '../../runtime/records/assistant-conversations.ts';
import { addPart, newContent, type Texts } from './content.ts';
import type { AssistantDependencies } from './dependencies.ts';

type AskRequest = RouteRequest<{ project: string }, unknown, z.output<typeof assistantQuestion>>;

const hourMs = 3_600_000;
/** A client that takes nothing for this long is cut off, in ms. */
const stalledMs = 30_000;

/** Answers a question in a conversation of the caller. Whatever refuses it does so before the stream begins. */
export function createAsk(dependencies: AssistantDependencies, texts: Texts) {
  const { pool, clock, tools, projectRedact, recordAudit, timeoutMs } = dependencies;
  // An answer holds up to a few megabytes: the files, and the results of its tools.
  const places = createUserPlaces({ total: 12, perUser: 2, what: 'answers of the assistant in progress' });

  const hour = () => new Date(Math.floor(clock.now().getTime() / hourMs) * hourMs);
  const day = () => periodStart('day', clock.now());
  const hasTokens = async (userId: Id, { tokensPerDay }: AssistantProvider) => {
    const { all, own } = await readAssistantTokens(pool, day(), userId);
    return all < tokensPerDay && own < tokensPerDay * assistantUserShare;
  };
  const secondsUntil = (end: number) => Math.max(1, Math.ceil((end - clock.now().getTime()) / 1000));

  /** Stores the question and counts it, or neither. @throws Problem `assistant_limit_reached`, `not_found` */
  const accept = async (
    userId: Id,
    conversation: Conversation,
    { messagesPerHour }: AssistantProvider,
    message: { id: Id; content: string; title: string },
  ) =>
    transaction(pool, async (client) => {
      if (!(await countAssistantMessage(client, userId, hour(), messagesPerHour))) {
        const retryAfterSeconds = secondsUntil(hour().getTime() + hourMs);
        const text = `You have sent ${messagesPerHour} messages in this hour, which is the limit.`;
        throw new Problem('assistant_limit_reached', text, { details: { max: messagesPerHour, retryAfterSeconds } });
      }
      if (!(await insertMessage(client, conversation.id, message))) {
        throw new Problem('not_found', 'The conversation was deleted.');
      }
    });

  return async (request: AskRequest, conversation: Conversation): Promise<RouteReply> => {
    const { params, body, signal, log, requestId, clientAddress } = request;
    const { text: question, page } = body;
    const session = sessionOf(request);
    const { userId } = session;
    const stored = (await findAssistantProvider(pool)) ?? notConfigured();
    const files = readAttachments(question, body.files);
    const earlier = await listMessages(pool, conversation.id);
    if (earlier.length >= assistantLimits.messages) {
      const text = `The conversation has ${earlier.length} messages, which is the limit. Begin another one.`;
      throw new Problem('conflict', text, { details: { max: assistantLimits.messages } });
    }
    const history = earlier.map((row) => {
      const exchange = texts.openContent(row);
      return { question: exchange.question, files: exchange.files.length, answer: exchange.answer };
    });
    if (!(await hasTokens(userId, stored))) {
      const retryAfterSeconds = secondsUntil(day().getTime() + dayMs);
      const text = 'The tokens of the day are used up. They are counted anew from midnight UTC.';
      throw new Problem('assistant_budget_used', text, { details: { retryAfterSeconds } });
    }
    const place = places.enter(userId);
    const [id, content] = [newId(), newContent(question, files)];
    let prepared: Pick<AnswerDependencies, 'provider' | 'redact'>;
    try {
      prepared = {
        provider: await openProvider(stored, dependencies),
        redact: await projectRedact(params.project, userId),
      };
      const message = {
        id,
        content: texts.sealContent(id, content),
        title: texts.sealTitle(conversation.id, question),
      };
      await accept(userId, conversation, stored, message);
    } catch (error) {
      place.leave();
      throw error;
    }

    let state: ConversationMessage['state'] = 'cancelled';
    let stores: Promise<void> | undefined;
    /** Stores the end of the answer, once. */
    const store = () =>
      (stores ??= endMessage(pool, id, { state, content: texts.sealContent(id, content) }).catch((error: unknown) =>
        log.error({ err: error }, 'the end of an answer was not stored'),
      ));
    const recordCall = async (fields: AuditFields) => {
      const line = { ...fields, action: 'tool.call' as const, method: 'POST', conversation: conversation.id };
      const entry = { ...line, actor: actorOf(session) };
      log.info(entry, 'audit');
      await recordAudit({ line: entry, requestId }).catch((cause: unknown) => {
        const text = 'A call of a tool cannot be recorded in the audit log at the moment. Try again in a moment.';
        throw new Problem('unavailable', text, { cause });
      });
    };

    const ends = AbortSignal.any([signal, place.signal]);
    const lines = async function* (stop: AbortSignal): AsyncGenerator<AnswerEvent> {
      const caller = { session, clientAddress, requestId, log, signal: stop };
      const message = { project: params.project, question, files, page, history, caller };
      const parts = answer(message, {
        ...prepared,
        level: stored.level,
        tools,
        recordCall,
        timeoutMs,
        hasTokens: () => hasTokens(userId, stored),
        countTokens: (tokens) =>
          countAssistantTokens(pool, userId, hour(), tokens).catch((error: unknown) =>
            log.error({ err: error, tokens }, 'tokens of the assistant were not counted'),
          ),
      });
      try {
        for await (const part of parts) {
          addPart(content, part);
          if (part.type === 'error') state = 'failed';
          if (part.type === 'done') {
            state = 'answered';
            await store();
            yield { ...part, message: id };
          } else yield part;
        }
      } catch (error) {
        if (!stop.aborted) throw error;
        // The client still reads when another user needed the place.
        if (!signal.aborted)
          yield { type: 'error', code: 'too_many_requests', error: 'Others ask as well. Try again.' };
      } finally {
        await store();
        place.leave();
      }
    };
    const reply = streamReply(clock, ends, lines, stalledMs);
    // A stream that is never read runs nothing of the above.
    reply.body.once('close', () => {
      place.leave();
      void store();
    });
    return { ...reply, audit: { message: id, files: files.length } };
  };
}

function notConfigured(): never {
  const message =
    'The assistant has no AI provider. A platform admin can set one: svc platform assistant set --url <address> --model <model>';
  throw new Problem('assistant_not_configured', message);
}
