import { z } from 'zod';
import { deploymentAccepted, webhookDeploy, webhookView } from '../../runtime/contracts/api/apps.ts';
import { environmentQuery } from '../../runtime/contracts/api/common.ts';

const app = z.object({ project: z.string().max(100), app: z.string().max(100) });

export const enableWebhookSchema = { params: app, query: environmentQuery, replies: { 200: webhookView } } as const;
export const getWebhookSchema = { params: app, query: environmentQuery, replies: { 200: webhookView } } as const;
export const disableWebhookSchema = { params: app, query: environmentQuery, replies: { 204: null } } as const;
export const deployWebhookSchema = {
  params: z.object({ namespace: z.string(), app: z.string() }),
  lateBody: webhookDeploy,
  replies: { 202: deploymentAccepted },
} as const;
