import type { DeploymentView } from '../../../../runtime/contracts/api/apps.ts';

/** The deployment that an app ran before another one: the newest earlier one that succeeded. @param history newest first */
export function previousOf(
  { revision: own }: DeploymentView,
  history: readonly DeploymentView[],
): (DeploymentView & { revision: number }) | undefined {
  if (own === undefined) return undefined;
  let newest: (DeploymentView & { revision: number }) | undefined;
  for (const each of history) {
    const { revision, status } = each;
    if (status !== 'succeeded' || revision === undefined || revision >= own) continue;
    if (newest === undefined || revision > newest.revision) newest = { ...each, revision };
  }
  return newest;
}
