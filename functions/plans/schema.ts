import { z } from 'zod';
import { environmentQuery, page } from '../../runtime/contracts/api/common.ts';
import {
  keyPageQuery,
  planChanged,
  planCreate,
  planDeleted,
  planUpdate,
  planView,
  reference,
} from '../../runtime/contracts/api/plans.ts';

const project = z.object({ project: z.string().max(100) });
/** A plan's id, or its name, which is unique within one environment only. */
const plan = project.extend({ plan: reference });

export const createPlanSchema = {
  params: project,
  query: environmentQuery,
  body: planCreate,
  replies: { 201: planChanged },
} as const;

export const listPlansSchema = { params: project, query: keyPageQuery, replies: { 200: page(planView) } } as const;

export const getPlanSchema = { params: plan, query: environmentQuery, replies: { 200: planView } } as const;

export const updatePlanSchema = {
  params: plan,
  query: environmentQuery,
  body: planUpdate,
  replies: { 200: planChanged },
} as const;

export const deletePlanSchema = { params: plan, query: environmentQuery, replies: { 200: planDeleted } } as const;
