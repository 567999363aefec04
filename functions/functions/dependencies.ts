import type { Pool } from 'pg';
import type { LogServices } from '../../runtime/api/log-reply.ts';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import type { Project } from '../../runtime/contracts/resources/project.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import type { Session } from '../../runtime/http/route.ts';
import type { ResolveTxt } from '../../runtime/workloads/host-admission.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';

/** The dependencies of the routes of functions. */
export interface FunctionDependencies {
  kube: KubeClient;
  pool: Pool;
  clock: Clock;
  /** Reads the DNS records by which projects prove hosts; without it, only the settings allow hosts. */
  resolveTxt?: ResolveTxt;
  /** The log store and the limits of reading logs. */
  logs?: LogServices | undefined;
  /** The public address of the management API. */
  baseUrl: string;
  /** The projects in which a user has a role. */
  visibleProjects: (session: Session) => Promise<Stored<Project>[]>;
}
