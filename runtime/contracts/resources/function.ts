import { z } from 'zod';
import type { Condition, KubeObject } from '../kubernetes.ts';

/** The runtimes of inline code (spec.md §2.5). */
export const functionRuntimes = ['node'] as const;

/** A ConfigMap holds 1 MiB; inline code stays well below it. */
export const codeMaxBytes = 512 * 1024;

export const functionSpec = z.object({
  runtime: z.enum(functionRuntimes),
  /** The source text of the handler. */
  code: z.string().min(1),
  trigger: z.literal('http').default('http'),
  /** The port on which the function listens. */
  port: z.int().min(1).max(65_535).default(8080),
  /** Another public host than the default `fn-<name>--<cluster>.<apps_domain>`. */
  hostname: z.string().optional(),
  /** Seconds without traffic after which the function goes to zero (spec.md §3.4). */
  idleTimeoutSeconds: z.int().min(1).max(86_400).default(300),
});

export type FunctionSpec = z.infer<typeof functionSpec>;

export interface FunctionStatus {
  observedGeneration?: number;
  phase?: 'pending' | 'idle' | 'running' | 'failed' | 'deleting';
  message?: string;
  host?: string;
  url?: string;
  replicas?: number;
  readyReplicas?: number;
  conditions?: Condition[];
}

export interface FunctionResource extends KubeObject {
  apiVersion: 'platform.svc/v1';
  kind: 'Function';
  spec: FunctionSpec;
  status?: FunctionStatus;
}
