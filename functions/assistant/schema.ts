import { z } from 'zod';
import {
  answerEvent,
  assistantQuestion,
  assistantView,
  conversationDetails,
  conversationView,
} from '../../runtime/contracts/api/assistant.ts';
import { idPageQuery, page } from '../../runtime/contracts/api/common.ts';

/** Files of a megabyte in base64, and their names and the question as JSON writes them. */
const questionMaxBytes = 1_600_000;

const params = z.object({ project: z.string().max(100), conversation: z.uuid() });

export const showAssistantSchema = { replies: { 200: assistantView } } as const;
export const createConversationSchema = { replies: { 201: conversationView } } as const;
export const listConversationsSchema = { query: idPageQuery, replies: { 200: page(conversationView) } } as const;
export const showConversationSchema = { params, replies: { 200: conversationDetails } } as const;
export const deleteConversationSchema = { params, replies: { 204: null } } as const;
export const askSchema = {
  params,
  body: assistantQuestion,
  bodyLimit: questionMaxBytes,
  jsonLines: true,
  replies: { 200: answerEvent },
} as const;
