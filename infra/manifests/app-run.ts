import type { AppSpec, Release } from '../../runtime/contracts/resources/app.ts';
import { appCommand, type AppRunRequest } from '../../runtime/contracts/resources/run.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import { apiGroup, podLabels, releaseAnnotation } from '../../runtime/domain/labels.ts';
import { releaseImage } from './app.ts';
import { requestedByAnnotation, type BatchJob } from './batch.ts';
import { servingResources } from './resources.ts';

/** The name of the container that runs the command. */
export const appRunContainer = 'app';

/** A run that nobody stops ends after this time, in seconds. */
const runTimeoutSeconds = 24 * 3_600;
/** As {@link runTimeoutSeconds}, for the pod of a session: a working day. */
const sessionTimeoutSeconds = 8 * 3_600;
/**
 * What the pod of a session runs until it is deleted; the session runs the command beside it. A session that attached to
 * the command itself would miss what it printed before, and could come after its end (decision 0066).
 */
const waitCommand = ['sleep', String(sessionTimeoutSeconds)];
/** It ignores SIGTERM, because it is the first process of its container, and the commands of sessions do not get one. */
const sessionGraceSeconds = 1;

/** On the run of a session: the program that the session runs, as JSON. Its arguments may be secrets. */
const sessionCommandAnnotation = `${apiGroup}/session-command`;
/** Shorter than the time that a rollout has, so that the rollout fails for this reason and not for its own time limit. */
const releaseTimeoutSeconds = 9 * 60;

/** What identifies an app. */
interface AppIdentity {
  id: Id;
  name: string;
  namespace: string;
}

type RunSettings = Pick<AppSpec, 'cpu' | 'memory' | 'port'>;

/**
 * The batch Job of a one-off run. Its name is `<app>-<hex>`; an app and a job never share a name, so neither do their
 * runs. Pure.
 */
export function appRunJob(app: AppIdentity, spec: RunSettings, release: Release, request: AppRunRequest): BatchJob {
  const { id, by, command, session = false } = request;
  return commandJob(app, spec, release, {
    name: `${app.name}-${id}`,
    command: session ? waitCommand : command,
    timeoutSeconds: session ? sessionTimeoutSeconds : runTimeoutSeconds,
    ...(session && { graceSeconds: sessionGraceSeconds }),
    annotations: {
      ...(by !== undefined && { [requestedByAnnotation]: by }),
      ...(session && { [sessionCommandAnnotation]: JSON.stringify(command.slice(0, 1)) }),
    },
  });
}

/** The command that a run executes, or the program that a session executes in its pod. Pure. */
export function commandOfRun({ metadata, spec }: BatchJob): string[] {
  const ofSession = metadata.annotations?.[sessionCommandAnnotation];
  if (ofSession !== undefined) return wordsOf(ofSession);
  const [container] = spec.template.spec?.containers ?? [];
  return (container?.command ?? []).map((word) => word.replaceAll('$$(', '$('));
}

/** The words of an annotation, which an operator may have changed. */
function wordsOf(annotation: string): string[] {
  try {
    return appCommand.parse(JSON.parse(annotation));
  } catch {
    return [annotation];
  }
}

/** The batch Job of a release's command. Pure. */
export function releaseCommandJob(
  app: AppIdentity,
  spec: RunSettings,
  release: Release & { command: string[] },
): BatchJob {
  return commandJob(app, spec, release, {
    name: `${app.name}-release-${release.generation}`,
    command: release.command,
    timeoutSeconds: releaseTimeoutSeconds,
    annotations: { [releaseAnnotation]: String(release.generation) },
  });
}

/**
 * A command in a pod of its own, with the image, variables and limits of a release, but without the app's volumes, port
 * and health check. It is tried once.
 */
function commandJob(
  { id, name: app, namespace }: AppIdentity,
  spec: RunSettings,
  release: Release,
  run: {
    name: string;
    command: readonly string[];
    timeoutSeconds: number;
    /** Default: that of Kubernetes. */
    graceSeconds?: number;
    annotations: Record<string, string>;
  },
): BatchJob {
  const labels = podLabels({ kind: 'App', name: app, id }, 'run');
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: {
      name: run.name,
      namespace,
      labels,
      ...(Object.keys(run.annotations).length > 0 && { annotations: run.annotations }),
    },
    // No time to live: a run that is removed before its request would be created again. The controller deletes it.
    spec: {
      backoffLimit: 0,
      activeDeadlineSeconds: run.timeoutSeconds,
      template: {
        metadata: { labels, ...(Object.keys(run.annotations).length > 0 && { annotations: run.annotations }) },
        spec: {
          restartPolicy: 'Never',
          ...(run.graceSeconds !== undefined && { terminationGracePeriodSeconds: run.graceSeconds }),
          automountServiceAccountToken: false,
          enableServiceLinks: false,
          securityContext: { seccompProfile: { type: 'RuntimeDefault' } },
          containers: [
            {
              name: appRunContainer,
              image: releaseImage(release),
              // Kubernetes would replace `$(NAME)` by a variable's value, which is the business of a shell.
              command: run.command.map((word) => word.replaceAll('$(', '$$$$(')),
              env: [{ name: 'PORT', value: String(spec.port) }],
              ...(release.envSecret !== undefined && { envFrom: [{ secretRef: { name: release.envSecret } }] }),
              resources: servingResources(spec, { cpu: '20m', memory: '64Mi' }),
              // Puts the last log lines into the pod's status, where a failed run finds the reason.
              terminationMessagePolicy: 'FallbackToLogsOnError',
              securityContext: { allowPrivilegeEscalation: false },
            },
          ],
        },
      },
    },
  };
}
