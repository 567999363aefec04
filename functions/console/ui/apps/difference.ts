import type { DeploymentView } from '../../../../runtime/contracts/api/apps.ts';

const fields = ['image', 'digest', 'commit', 'commitMessage', 'branch'] as const;

/** What differs between two deployments; undefined on a side that does not have it. */
export interface Difference {
  field: (typeof fields)[number];
  before: string | undefined;
  after: string | undefined;
}

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

/** What differs between a deployment and the one before it, as far as the API tells. */
export function differencesOf(before: DeploymentView, after: DeploymentView): Difference[] {
  return fields.flatMap((field) => {
    // No digest is known until pods have started, and no image until it is built.
    const isUnknown = (field === 'digest' || field === 'image') && (!before[field] || !after[field]);
    if (isUnknown || before[field] === after[field]) return [];
    return [{ field, before: before[field], after: after[field] }];
  });
}
