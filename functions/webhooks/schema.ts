import { z } from 'zod';
import { environmentQuery, page, pageQuery, problemBody } from '../../runtime/contracts/api/common.ts';
import {
  deliveryItem,
  deliveryView,
  webhookChange,
  webhookDeploy,
  webhookDeployment,
  webhookDeploymentEnded,
  webhookEnable,
  webhookIgnored,
  webhookQuery,
  webhookTest,
  webhookView,
} from '../../runtime/contracts/api/webhooks.ts';

const app = z.object({ project: z.string().max(100), app: z.string().max(100) });
const ofApp = { params: app, query: environmentQuery } as const;
const ofDelivery = { params: app.extend({ delivery: z.string().max(100) }), query: environmentQuery } as const;

export const enableWebhookSchema = { ...ofApp, body: webhookEnable, replies: { 200: webhookView } } as const;
export const changeWebhookSchema = { ...ofApp, body: webhookChange, replies: { 200: webhookView } } as const;
export const getWebhookSchema = { ...ofApp, replies: { 200: webhookView } } as const;
export const disableWebhookSchema = { ...ofApp, replies: { 204: null } } as const;

const deployed = {
  200: z.union([webhookDeployment, webhookIgnored]),
  202: webhookDeployment,
  /** A deployment that was waited for, or an image while there is a git source. */
  409: z.union([webhookDeploymentEnded, problemBody]),
  424: webhookDeploymentEnded,
} as const;

export const deployWebhookSchema = {
  params: z.object({ namespace: z.string(), app: z.string() }),
  query: webhookQuery,
  lateBody: webhookDeploy,
  replies: deployed,
} as const;
export const secretUrlSchema = {
  params: z.object({ namespace: z.string(), app: z.string(), secret: z.string() }),
  /** What the registry sends. */
  lateBody: z.looseObject({}),
  replies: { 200: deployed[200], 202: deployed[202] },
} as const;

export const listDeliveriesSchema = {
  params: app,
  /** The cursor is the last delivery's id of the page before. */
  query: environmentQuery.extend({ limit: pageQuery.shape.limit, cursor: z.uuid().optional() }),
  replies: { 200: page(deliveryItem) },
} as const;
export const getDeliverySchema = { ...ofDelivery, replies: { 200: deliveryView } } as const;
export const redeliverSchema = { ...ofDelivery, replies: { 200: deliveryView } } as const;
export const testWebhookSchema = { ...ofApp, body: webhookTest, replies: { 200: deliveryView } } as const;
