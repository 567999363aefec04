import { z } from 'zod';
import { environmentQuery, page, pageQuery } from '../../runtime/contracts/api/common.ts';
import { functionCreate, functionView } from '../../runtime/contracts/api/functions.ts';

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
export const deleteFunctionSchema = {
  params: one,
  query: environmentQuery,
  replies: { 202: functionView, 204: null },
} as const;
