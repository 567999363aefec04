import { z } from 'zod';
import { codeMaxBytes, functionRuntimes } from '../resources/function.ts';
import { outOfMemory, timestamp } from './common.ts';

/** `POST /api/v1/projects/{p}/functions` */
export const functionCreate = z.strictObject({
  name: z.string(),
  runtime: z.enum(functionRuntimes),
  code: z
    .string()
    .min(1)
    .refine((code) => Buffer.byteLength(code) <= codeMaxBytes, `code has at most ${codeMaxBytes} bytes`),
  trigger: z.literal('http').default('http'),
  port: z.int().min(1).max(65_535).default(8080),
  hostname: z.string().optional(),
  idleTimeoutSeconds: z.int().min(1).max(86_400).default(300),
});

export const functionView = z.object({
  id: z.uuid(),
  name: z.string(),
  project: z.string(),
  environment: z.string(),
  runtime: z.enum(functionRuntimes),
  trigger: z.literal('http'),
  status: z.enum(['pending', 'idle', 'running', 'failed', 'deleting']),
  message: z.string().optional(),
  outOfMemory: outOfMemory.optional(),
  url: z.string().optional(),
  replicas: z.int(),
  readyReplicas: z.int(),
  idleTimeoutSeconds: z.int(),
  createdAt: timestamp,
});

export type FunctionView = z.infer<typeof functionView>;
