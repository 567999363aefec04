import type { DeploymentView } from '../contracts/api/apps.ts';
import type { Deployment } from './deployments.ts';

/** A deployment as the API shows it, and notifications tell of it. */
export function deploymentToView(entry: Deployment): DeploymentView {
  const { id, app, environment, revision, image, trigger, current, commit, commitMessage, commitAuthor } = entry;
  const { branch, actor, reason, rollbackOf } = entry;
  return {
    id,
    app,
    environment,
    ...(revision !== null && { revision }),
    ...(image !== '' && { image }),
    ...(commit !== null && { commit }),
    ...(commitMessage !== null && { commitMessage }),
    ...(commitAuthor !== null && { commitAuthor }),
    ...(branch !== null && { branch }),
    trigger,
    ...(actor !== null && { actor }),
    status: entry.state,
    ...(reason !== null && { reason }),
    ...(rollbackOf !== null && { rollbackOf }),
    current,
    acceptedAt: entry.acceptedAt.toISOString(),
    ...(entry.startedAt && { startedAt: entry.startedAt.toISOString() }),
    ...(entry.endedAt && { endedAt: entry.endedAt.toISOString() }),
  };
}
