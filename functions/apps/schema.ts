import { z } from 'zod';
import { logLines, logLinesQuery } from '../../runtime/contracts/api/logs.ts';
import { appCreate, appUpdate, appView, deploymentAccepted } from '../../runtime/contracts/api/apps.ts';
import { environmentQuery, page, pageQuery } from '../../runtime/contracts/api/common.ts';

const project = z.object({ project: z.string().max(100) });
const app = project.extend({ app: z.string().max(100) });

export const createAppSchema = {
  params: project,
  query: environmentQuery,
  body: appCreate,
  replies: { 201: appView },
} as const;
export const listAppsSchema = {
  params: project,
  query: environmentQuery.extend(pageQuery.shape),
  replies: { 200: page(appView) },
} as const;
export const getAppSchema = { params: app, query: environmentQuery, replies: { 200: appView } } as const;
export const updateAppSchema = {
  params: app,
  query: environmentQuery,
  body: appUpdate,
  replies: { 200: appView, 202: deploymentAccepted },
} as const;
export const deleteAppSchema = {
  params: app,
  query: environmentQuery,
  replies: { 202: appView, 204: null },
} as const;

export const restartSchema = { params: app, query: environmentQuery, replies: { 202: deploymentAccepted } } as const;

export const appLogsSchema = {
  params: app,
  query: environmentQuery.extend(logLinesQuery.shape),
  replies: { 200: logLines },
} as const;
