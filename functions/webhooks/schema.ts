import { z } from 'zod';
import { problemBody } from '../../runtime/contracts/api/common.ts';
import {
  webhookDeploy,
  webhookDeployment,
  webhookDeploymentEnded,
  webhookIgnored,
  webhookQuery,
} from '../../runtime/contracts/api/webhooks.ts';
import { largeBodyLimit } from '../../runtime/http/body.ts';

const replies = {
  200: z.union([webhookDeployment, webhookIgnored]),
  202: webhookDeployment,
  /** With `wait`, the deployment was superseded or cancelled; or an image was sent while the app has a git source. */
  409: z.union([webhookDeploymentEnded, problemBody]),
  424: webhookDeploymentEnded,
} as const;

/** The parameters have no maximum length: a name that is too long gets the same response as an unknown one. */
export const deployWebhookSchema = {
  params: z.object({ namespace: z.string(), app: z.string() }),
  query: webhookQuery,
  lateBody: webhookDeploy,
  bodyLimit: largeBodyLimit,
  replies,
} as const;
export const secretUrlSchema = {
  params: z.object({ namespace: z.string(), app: z.string(), secret: z.string() }),
  /** The registry's own format. */
  lateBody: z.looseObject({}),
  bodyLimit: largeBodyLimit,
  replies: { 200: replies[200], 202: replies[202] },
} as const;
