import { z } from 'zod';
import { timestamp } from './common.ts';

/** A pod of an app or function. */
const podView = z.object({
  name: z.string(),
  /** `starting` until it is ready; `failing`: more waiting does not help, and `reason` says why; `ending`: it is being deleted. */
  status: z.enum(['starting', 'ready', 'failing', 'ending']),
  /** Of an app: the revision that the pod runs. */
  revision: z.int().optional(),
  /** How often its containers have restarted. */
  restarts: z.int(),
  /** The reason of Kubernetes, such as `CrashLoopBackOff` or `ImagePullBackOff`. */
  reason: z.string().optional(),
  /** The exit code of the container that failed. */
  exitCode: z.int().optional(),
  /** What Kubernetes says about a pod that could not start. What the program printed is in its log. */
  message: z.string().optional(),
  createdAt: timestamp,
});

export type PodView = z.infer<typeof podView>;

/** `GET …/apps/{a}/pods` and `…/functions/{f}/pods`, newest first. */
export const podList = z.object({ items: z.array(podView) });
