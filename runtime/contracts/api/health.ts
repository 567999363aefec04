import { z } from 'zod';

/** The names of the controllers, docs/reference/metrics.md#health. */
export const controllerNames = [
  'App',
  'Build',
  'Function',
  'Job',
  'PlatformConfig',
  'PodOOM',
  'Project',
  'Service',
  'Volume',
] as const;

/** The body of `GET /health/controllers`, docs/reference/metrics.md#health. */
export const controllerHealth = z.object({
  healthy: z.boolean(),
  managerStarted: z.boolean(),
  cacheSynced: z.boolean(),
  controllers: z.array(z.object({ name: z.string(), registered: z.boolean() })),
});

export type ControllerHealth = z.infer<typeof controllerHealth>;
