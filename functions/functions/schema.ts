import { z } from 'zod';
import { bindingAccepted, bindingUpdate, bindingView, unbindQuery } from '../../runtime/contracts/api/bindings.ts';
import { environmentQuery, page, pageQuery } from '../../runtime/contracts/api/common.ts';
import {
  deadLetterChoice,
  deadLettersChanged,
  deadLetterView,
  discardQuery,
  eventNumber,
  functionCreate,
  functionEventView,
  functionRunView,
  functionUpdate,
  functionView,
} from '../../runtime/contracts/api/functions.ts';
import { logLines, logLinesQuery } from '../../runtime/contracts/api/logs.ts';
import { logsQuery, runAccepted, runLogs } from '../../runtime/contracts/api/runs.ts';

const project = z.object({ project: z.string().max(100) });
const one = project.extend({ function: z.string().max(100) });

export const createFunctionSchema = {
  params: project,
  query: environmentQuery,
  body: functionCreate,
  replies: { 201: functionView },
} as const;
export const listFunctionsSchema = {
  params: project,
  query: environmentQuery.extend(pageQuery.shape),
  replies: { 200: page(functionView) },
} as const;
export const listAllFunctionsSchema = { query: pageQuery, replies: { 200: page(functionView) } } as const;
export const getFunctionSchema = { params: one, query: environmentQuery, replies: { 200: functionView } } as const;
export const updateFunctionSchema = {
  params: one,
  query: environmentQuery.extend(discardQuery.shape),
  body: functionUpdate,
  replies: { 200: functionView },
} as const;
export const deleteFunctionSchema = {
  params: one,
  query: environmentQuery.extend(discardQuery.shape),
  replies: { 202: functionView, 204: null },
} as const;
export const restartFunctionSchema = { params: one, query: environmentQuery, replies: { 200: functionView } } as const;
export const testRunSchema = { params: one, query: environmentQuery, replies: { 202: runAccepted } } as const;
export const listRunsSchema = {
  params: one,
  query: environmentQuery.extend(pageQuery.shape),
  replies: { 200: page(functionRunView) },
} as const;
export const getRunSchema = {
  params: one.extend({ run: z.string().max(100) }),
  query: environmentQuery,
  replies: { 200: functionRunView },
} as const;
export const functionRunLogsSchema = {
  params: one,
  query: environmentQuery.extend(logsQuery.shape),
  replies: { 200: runLogs },
} as const;
export const functionLogsSchema = {
  params: one,
  query: environmentQuery.extend(logLinesQuery.shape),
  replies: { 200: logLines },
} as const;

const eventsQuery = environmentQuery.extend({ ...pageQuery.shape, cursor: eventNumber.optional() });

export const listEventsSchema = { params: one, query: eventsQuery, replies: { 200: page(functionEventView) } } as const;
export const listDeadLettersSchema = {
  params: one,
  query: eventsQuery,
  replies: { 200: page(deadLetterView) },
} as const;
export const changeDeadLettersSchema = {
  params: one,
  query: environmentQuery,
  body: deadLetterChoice,
  replies: { 200: deadLettersChanged },
} as const;

const binding = one.extend({ service: z.string().max(100) });

export const listBindingsSchema = {
  params: one,
  query: environmentQuery,
  replies: { 200: z.object({ items: z.array(bindingView) }) },
} as const;
export const getBindingSchema = { params: binding, query: environmentQuery, replies: { 200: bindingView } } as const;
export const bindSchema = {
  params: binding,
  query: environmentQuery,
  body: bindingUpdate,
  replies: { 202: bindingAccepted },
} as const;
export const unbindSchema = {
  params: binding,
  query: environmentQuery.extend(unbindQuery.shape),
  replies: { 202: bindingAccepted, 204: null },
} as const;
