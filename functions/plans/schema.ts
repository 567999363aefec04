import { z } from 'zod';
import { environmentQuery, page } from '../../runtime/contracts/api/common.ts';
import { keyPageQuery, planCreate, planView, reference } from '../../runtime/contracts/api/keys.ts';

const project = z.object({ project: z.string().max(100) });
/** A plan's id, or its name, which is unique within one environment only. */
const plan = project.extend({ plan: reference });

export const createPlanSchema = {
  params: project,
  query: environmentQuery,
  body: planCreate,
  replies: { 201: planView },
} as const;

export const listPlansSchema = {
  params: project,
  query: keyPageQuery,
  replies: { 200: page(planView) },
} as const;

export const getPlanSchema = {
  params: plan,
  query: environmentQuery,
  replies: { 200: planView },
} as const;

export const deletePlanSchema = {
  params: plan,
  query: environmentQuery,
  replies: { 204: null },
} as const;
