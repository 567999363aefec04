import type { Pool } from 'pg';
import type { Clock } from '../domain/clock.ts';
import type { KubeClient } from '../kube/kube-client.ts';
import type { ResolveTxt } from '../workloads/host-admission.ts';
import type { LogServices } from './log-reply.ts';

/** The dependencies of the routes of apps and of functions. */
export interface WorkloadDependencies {
  kube: KubeClient;
  pool: Pool;
  clock: Clock;
  /** Reads the DNS records by which projects prove hosts; without it, only the settings allow hosts. */
  resolveTxt?: ResolveTxt;
  /** The log store and the limits of reading logs. */
  logs?: LogServices | undefined;
  /** The public address of the management API. */
  baseUrl: string;
}
