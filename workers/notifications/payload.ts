import { consoleHost } from '../../infra/manifests/platform/settings.ts';
import type { AlertNotification, DeploymentNotification } from '../../runtime/contracts/api/notifications.ts';
import { publicUrl, type PlatformConfigSpec } from '../../runtime/contracts/resources/platform-config.ts';
import { alertEvents, testEvent, type NotificationEvent } from '../../runtime/domain/notification.ts';
import type { AlertEpisode } from '../../runtime/records/alert-episodes.ts';
import { deploymentToView } from '../../runtime/records/deployment-view.ts';
import type { Deployment } from '../../runtime/records/deployments.ts';
import type { Delivery } from './store.ts';

/** Maximum length of texts such as commit messages, because receivers limit the size of a request. */
const textMax = 2_000;

/**
 * The body of a notification. It contains no secrets and is the same at every attempt, because the record of an ended
 * deployment does not change.
 */
export function payloadOf(
  { type, project, targetName, createdAt }: Pick<Delivery, 'type' | 'project' | 'targetName' | 'createdAt'>,
  subject: { deployment?: Deployment | undefined; episode?: AlertEpisode | undefined },
  settings: PlatformConfigSpec,
): string {
  const { deployment, episode } = subject;
  if (episode) return alertPayload(type, episode);
  if (!deployment) {
    // A target of the platform belongs to no project.
    const data = { ...(project !== '' && { project }), notification: targetName };
    return JSON.stringify({ type: testEvent, timestamp: createdAt.toISOString(), data });
  }
  const { current: _, reason, commitMessage, ...view } = deploymentToView(deployment);
  const api = publicUrl(settings, consoleHost(settings));
  const message: DeploymentNotification = {
    type: type as NotificationEvent,
    timestamp: (deployment.endedAt ?? createdAt).toISOString(),
    data: {
      project,
      ...view,
      environment: deployment.environment,
      ...(commitMessage !== undefined && { commitMessage: commitMessage.slice(0, textMax) }),
      ...(reason !== undefined && { reason: (reason.split('\n', 1)[0] ?? '').slice(0, textMax) }),
      statusUrl: `${api}/api/v1/projects/${project}/deployments/${deployment.id}`,
    },
  };
  return JSON.stringify(message);
}

/** The texts are those of the alert's beginning, so that every attempt sends the same. */
function alertPayload(type: string, { alert, startedAt, endedAt }: AlertEpisode): string {
  const { name, severity, scope, labels, annotations } = alert;
  const { summary = name, description, ...details } = annotations;
  const isEnd = type === alertEvents[1];
  const message: AlertNotification = {
    type: isEnd ? alertEvents[1] : alertEvents[0],
    timestamp: (isEnd ? (endedAt ?? startedAt) : startedAt).toISOString(),
    data: {
      alert: name,
      severity,
      scope,
      summary,
      ...(description !== undefined && { description }),
      labels,
      details,
      startsAt: startedAt.toISOString(),
      ...(isEnd && endedAt && { endsAt: endedAt.toISOString() }),
    },
  };
  return JSON.stringify(message);
}
