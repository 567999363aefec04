import { z } from 'zod';

/** `absent`: the cluster has no metrics API; `refused`: it denies access. */
const usageStates = ['available', 'absent', 'refused', 'failing'] as const;

export type UsageState = (typeof usageStates)[number];

/** A node of the cluster. */
export const clusterNode = z.object({
  name: z.string(),
  ready: z.boolean(),
  addresses: z.array(z.string()),
  /** The memory that its pods can have. */
  memoryBytes: z.number().optional(),
});

/** What svc-controllers report about the installation besides their own health. */
export const platformState = z.object({
  /** The platform's own processes and stores, with their wanted and ready replicas. */
  processes: z.array(z.object({ name: z.string(), replicas: z.int(), ready: z.int() })),
  /** The nodes of the cluster; none in the embedded cluster. */
  nodes: z.array(clusterNode),
  /** What the cluster's metrics API last answered, before the first time absent. */
  usage: z.enum(usageStates).optional(),
});

export type PlatformState = z.infer<typeof platformState>;
