import type { Pool } from 'pg';
import { transaction } from '../../runtime/db/pool.ts';
import { newId, type Id } from '../../runtime/domain/ids.ts';
import { acceptDeployment, type Acceptance } from '../../runtime/records/acceptance.ts';
import {
  deployBuilt,
  rollbackTarget,
  sameImage,
  startBuild,
  startDeployment,
  succeedDeployment,
} from '../../runtime/records/deployments.ts';
import { projectWorkload } from '../../runtime/records/workloads.ts';

/** Where the builds of these apps push. */
export const buildRegistry = 'localhost:5000/builds';

/** The digest of the image that these tests call by a letter or a number. */
export function digestOf(name: string | number): string {
  return `sha256:${Buffer.from(String(name)).toString('hex').padStart(64, '0')}`;
}

/** An app whose deployments are built, as records only. */
export interface BuiltApp {
  id: Id;
  environmentId: Id;
  /** Accepts a deployment without an image, as a push to git does. */
  accept(): Promise<Id>;
  /** Ends the build of an accepted deployment with this image. @returns its name */
  built(id: Id, digest: string, sizeBytes?: number): Promise<string>;
  /** Builds and rolls out a revision. @returns the name of its image */
  release(digest: string): Promise<string>;
  rollBack(revision?: number): Promise<Acceptance>;
  succeed(id: Id): Promise<void>;
}

export async function builtApp(
  pool: Pool,
  {
    name = 'web',
    project = 'shop',
    environment = 'prod',
    environmentId = newId(),
  }: { name?: string; project?: string; environment?: string; environmentId?: Id } = {},
): Promise<BuiltApp> {
  const id = newId();
  const namespace = `${project}-${environment}`;
  await projectWorkload(pool, { id, kind: 'App', environmentId, project, environment, namespace, name, gated: false });
  const accept = async () =>
    (await transaction(pool, (client) => acceptDeployment(client, { workloadId: id, trigger: 'git' }))).id;
  const built = async (deploymentId: Id, digest: string, sizeBytes?: number) => {
    const image = `${buildRegistry}/${namespace}/${name}:${deploymentId}`;
    await startBuild(pool, deploymentId);
    await transaction(pool, (client) => deployBuilt(client, deploymentId, { image, digest, sizeBytes }));
    return image;
  };
  const succeed = async (deploymentId: Id) => {
    await startDeployment(pool, deploymentId);
    await succeedDeployment(pool, deploymentId);
  };
  return {
    id,
    environmentId,
    accept,
    built,
    succeed,
    async release(digest) {
      const deploymentId = await accept();
      const image = await built(deploymentId, digest);
      await succeed(deploymentId);
      return image;
    },
    rollBack: (revision) =>
      transaction(pool, async (client) => {
        const target = await rollbackTarget(client, id, revision);
        return acceptDeployment(client, {
          workloadId: id,
          trigger: 'rollback',
          ...sameImage(target),
          rollbackOf: target.revision,
        });
      }),
  };
}
