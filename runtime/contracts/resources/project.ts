import { z } from 'zod';
import type { Condition, KubeObject } from '../kubernetes.ts';

/** A project, cluster-scoped. Each environment is one namespace `<project>-<environment>` (spec.md §1). */
export const projectSpec = z.object({
  displayName: z.string().max(200).optional(),
  environments: z.array(z.object({ name: z.string(), id: z.uuid() })).max(20),
});

export type ProjectSpec = z.infer<typeof projectSpec>;

export interface ProjectStatus {
  observedGeneration?: number;
  phase?: 'creating' | 'ready' | 'failed' | 'deleting';
  environments?: { name: string; id: string; namespace: string; ready: boolean; message?: string }[];
  conditions?: Condition[];
}

export interface Project extends KubeObject {
  apiVersion: 'platform.svc/v1';
  kind: 'Project';
  spec: ProjectSpec;
  status?: ProjectStatus;
}
