import { z } from 'zod';
import { logLines, logLinesQuery } from '../../runtime/contracts/api/logs.ts';
import {
  appCreate,
  appUpdate,
  appView,
  deploymentAccepted,
  gateUpdate,
  gateView,
} from '../../runtime/contracts/api/apps.ts';
import { environmentQuery, page, pageQuery } from '../../runtime/contracts/api/common.ts';
import {
  secretReveal,
  secretUpdate,
  secretView,
  variablesUpdate,
  variablesView,
} from '../../runtime/contracts/api/variables.ts';

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
export const setGateSchema = {
  params: app,
  query: environmentQuery,
  body: gateUpdate,
  replies: { 200: gateView },
} as const;
export const getGateSchema = { params: app, query: environmentQuery, replies: { 200: gateView } } as const;

const secret = app.extend({ secret: z.string().max(250) });

export const getVariablesSchema = { params: app, query: environmentQuery, replies: { 200: variablesView } } as const;
export const updateVariablesSchema = {
  params: app,
  query: environmentQuery,
  body: variablesUpdate,
  replies: { 200: variablesView },
} as const;
export const listSecretsSchema = { params: app, query: environmentQuery, replies: { 200: page(secretView) } } as const;
export const revealSecretSchema = { params: secret, query: environmentQuery, replies: { 200: secretReveal } } as const;
export const setSecretSchema = {
  params: secret,
  query: environmentQuery,
  body: secretUpdate,
  replies: { 200: secretView },
} as const;
export const restoreSecretSchema = { params: secret, query: environmentQuery, replies: { 200: secretView } } as const;
export const deleteSecretSchema = { params: secret, query: environmentQuery, replies: { 204: null } } as const;
export const restartSchema = { params: app, query: environmentQuery, replies: { 202: deploymentAccepted } } as const;

export const appLogsSchema = {
  params: app,
  query: environmentQuery.extend(logLinesQuery.shape),
  replies: { 200: logLines },
} as const;
