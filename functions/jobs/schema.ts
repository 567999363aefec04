import { z } from 'zod';
import { environmentQuery, page, pageQuery } from '../../runtime/contracts/api/common.ts';
import { jobCreate, jobRunView, jobUpdate, jobView } from '../../runtime/contracts/api/jobs.ts';
import { logsQuery, runAccepted, runLogs } from '../../runtime/contracts/api/runs.ts';

const project = z.object({ project: z.string().max(100) });
const one = project.extend({ job: z.string().max(100) });

export const createJobSchema = {
  params: project,
  query: environmentQuery,
  body: jobCreate,
  replies: { 201: jobView },
} as const;
export const listJobsSchema = {
  params: project,
  query: environmentQuery.extend(pageQuery.shape),
  replies: { 200: page(jobView) },
} as const;
export const getJobSchema = { params: one, query: environmentQuery, replies: { 200: jobView } } as const;
export const updateJobSchema = {
  params: one,
  query: environmentQuery,
  body: jobUpdate,
  replies: { 200: jobView },
} as const;
export const deleteJobSchema = { params: one, query: environmentQuery, replies: { 202: jobView, 204: null } } as const;
export const runJobSchema = { params: one, query: environmentQuery, replies: { 202: runAccepted } } as const;
export const listRunsSchema = {
  params: one,
  query: environmentQuery.extend(pageQuery.shape),
  replies: { 200: page(jobRunView) },
} as const;
export const getRunSchema = {
  params: one.extend({ run: z.string().max(100) }),
  query: environmentQuery,
  replies: { 200: jobRunView },
} as const;
export const jobLogsSchema = {
  params: one,
  query: environmentQuery.extend(logsQuery.shape),
  replies: { 200: runLogs },
} as const;
