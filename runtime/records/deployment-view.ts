import type { DeploymentView } from '../contracts/api/apps.ts';
import type { Deployment } from './deployments.ts';

/** A deployment as the API and notifications show it. */
export function deploymentToView(entry: Deployment): DeploymentView {
  const { id, app, environment, revision, image, trigger, current, commit, commitMessage, commitAuthor } = entry;
  const { branch, digest, actor, reason, rollbackOf, rolledBackTo } = entry;
  const { promotedFromEnvironment: environmentBefore, promotedFromRevision: revisionBefore } = entry;
  const promotedFrom =
    environmentBefore !== null && revisionBefore !== null
      ? { environment: environmentBefore, revision: revisionBefore }
      : undefined;
  return {
    id,
    app,
    environment,
    ...(revision !== null && { revision }),
    ...(image !== '' && { image }),
    ...(digest !== null && { digest }),
    ...(commit !== null && { commit }),
    ...(commitMessage !== null && { commitMessage }),
    ...(commitAuthor !== null && { commitAuthor }),
    ...(branch !== null && { branch }),
    trigger,
    ...(actor !== null && { actor }),
    status: entry.state,
    ...(reason !== null && { reason }),
    ...(rollbackOf !== null && { rollbackOf }),
    ...(entry.restores === 'config' && { withConfig: true }),
    ...(entry.automatic && { automatic: true }),
    ...(rolledBackTo !== null && { rolledBackTo }),
    current,
    ...(entry.imageState !== null && entry.imageState !== 'stored' && { imageDeleted: true }),
    ...(promotedFrom && { promotedFrom }),
    acceptedAt: entry.acceptedAt.toISOString(),
    ...(entry.startedAt && { startedAt: entry.startedAt.toISOString() }),
    ...(entry.endedAt && { endedAt: entry.endedAt.toISOString() }),
  };
}
