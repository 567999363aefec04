/**
 * How svc-controllers starts a function in a generic pod (decision 0098). `GET /pod` answers the pod's uid; `POST /start`,
 * with the environment's token as a bearer token and a {@link WarmStart} as its body, answers 202. It is accepted once.
 */

/** The port on which generic pods wait. */
export const warmPort = 8_079;

/** What a generic pod needs to become a pod of a function. */
export interface WarmStart {
  /** The variables of the function's container. */
  env: Record<string, string>;
  /** The files of the code, by name. */
  files: Record<string, string>;
  /** How long requests may take after the pod was asked to end. */
  drainSeconds: number;
}
