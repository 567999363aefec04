import type { Pool } from 'pg';
import type { Attempt, Outcome, Processor } from '../../runtime/bus/runner.ts';
import { registryFileKey, registrySecrets } from '../../infra/manifests/build.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import { defaultKeptImages, type PlatformConfigSpec } from '../../runtime/contracts/resources/platform-config.ts';
import type { Project } from '../../runtime/contracts/resources/project.ts';
import { transaction } from '../../runtime/db/pool.ts';
import { platformActor, type AuditLine } from '../../runtime/domain/audit.ts';
import { repositoryAt } from '../../runtime/domain/built-image.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import { buildNamespace, idLabel } from '../../runtime/domain/labels.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { readSecretText } from '../../runtime/kube/secret-text.ts';
import { imageCleanupId } from '../../runtime/queues/catalogue.ts';
import { insertAuditEntry } from '../../runtime/records/audit-entries.ts';
import {
  beginDeletion,
  endDeletion,
  findUnneeded,
  namespacesOf,
  postponeDeletion,
  queueDeletions,
  refuseDeletion,
  tagsOf,
  type Needed,
} from '../../runtime/records/image-deletions.ts';
import type { StoredImage } from '../../runtime/records/images.ts';
import { findImageUser } from '../../runtime/workloads/image-users.ts';
import { readSettingsIfAny } from '../../runtime/workloads/platform-config.ts';
import { deleteManifest } from './registry.ts';

export interface ImageDependencies {
  pool: Pool;
  kube: Pick<KubeClient, 'get' | 'list'>;
  clock: Clock;
  /** Images of one page of the clean-up; default 500. */
  pageSize?: number;
  /** Time-out of each request to the registry, in ms; default 8 s. */
  registryTimeoutMs?: number;
}

/** Interval of the clean-up, in ms. */
const cleanupMs = 3_600_000;
/** How long one attempt of the clean-up searches, in ms; the next attempt continues there. */
const budgetMs = 15_000;
/** How long a deletion waits before it looks again for a build of the same app or a pod that is being stopped, in ms. */
const waitMs = 15_000;

/**
 * A Docker configuration file with the credentials that may delete images. Those with which builds push are in another
 * Secret, which no process of the platform reads.
 */
const deletionCredentials = { namespace: buildNamespace, name: registrySecrets.delete, key: registryFileKey };

type Builds = NonNullable<PlatformConfigSpec['builds']>;

/**
 * Deletes images from the registry: those that a user asked to delete, and those that the clean-up finds. An image is
 * first marked as being deleted, while nothing needs it; from then on no deployment of it is accepted and no build of its app
 * starts. Then its users in Kubernetes are looked up, and then the registry is asked. Each step can run twice.
 */
export function createImageProcessor(dependencies: ImageDependencies): Processor {
  const { pool, kube, clock, pageSize = 500, registryTimeoutMs } = dependencies;
  /** Where the next search begins, if the last one ran out of time. */
  let position: Id | undefined;

  const cleanUp = async ({ log, signal }: Attempt): Promise<Outcome> => {
    const builds = (await readSettingsIfAny(kube))?.builds;
    const next = { again: new Date(clock.now().getTime() + cleanupMs) };
    if (!builds) return next;
    const { keepImages: keep = defaultKeptImages } = builds;
    const start = clock.monotonic();
    let count = 0;
    for (;;) {
      const page = await findUnneeded(pool, { after: position, keep, size: pageSize });
      await queueDeletions(pool, page.ids);
      count += page.ids.length;
      position = page.next;
      if (position === undefined) break;
      if (signal.aborted || clock.monotonic() - start > budgetMs) return { again: clock.now() };
    }
    if (count > 0) log.info({ images: count }, 'images to delete found');
    return next;
  };

  const refuse = async ({ log }: Attempt, image: StoredImage, reason: { problem: string; message: string }) => {
    await refuseDeletion(pool, image.id, reason);
    log.warn({ image: nameOf(image), ...reason }, 'image not deleted');
    return 'done' as const;
  };

  const remove = async (attempt: Attempt, image: StoredImage, builds: Builds | undefined, caCertificates?: string) => {
    const location = builds && repositoryAt(builds, image);
    if (!location) {
      return refuse(attempt, image, {
        problem: 'registry_changed',
        message: 'Builds push to another registry now. Delete the image in its registry.',
      });
    }
    const place = await placeOf(kube, image);
    const names = await tagsOf(pool, image.id);
    const user = await findImageUser(kube, await namespacesOf(pool, image.project), { ...image, names });
    if (user?.isStopping === true) {
      // Meanwhile builds of its app go on.
      await postponeDeletion(pool, image.id, `It waits until ${user.name} has ended.`);
      return { again: new Date(clock.now().getTime() + waitMs) };
    }
    if (user !== undefined) {
      return refuse(attempt, image, { problem: 'in_use', message: `The image is in use by ${user.name}.` });
    }
    const result = await deleteManifest(
      { ...location, digest: image.digest },
      {
        credentials: await readSecretText(kube, deletionCredentials),
        caCertificates,
        signal: attempt.signal,
        ...(registryTimeoutMs !== undefined && { timeoutMs: registryTimeoutMs }),
      },
    );
    if (result.result === 'refused' || (result.result === 'unknown' && attempt.last)) {
      return refuse(attempt, image, result);
    }
    if (result.result === 'unknown') throw new Error(result.message);
    const { namespace, app, digest, requestedBy, sizeBytes } = image;
    const actor = requestedBy ?? platformActor;
    const line: AuditLine = { action: 'image.delete', actor, ...place, namespace, app, digest, sizeBytes };
    await transaction(pool, async (client) => {
      await endDeletion(client, image.id);
      await insertAuditEntry(client, { line });
    });
    attempt.log.info(line, 'audit');
    return 'done' as const;
  };

  return async (attempt) => {
    if (attempt.recordId === imageCleanupId) return cleanUp(attempt);
    const { builds, caCertificates } = (await readSettingsIfAny(kube)) ?? {};
    const keep = builds?.keepImages ?? defaultKeptImages;
    const begun = await transaction(pool, (client) => beginDeletion(client, attempt.recordId, keep));
    if (begun === undefined) return 'done';
    if ('by' in begun) return keepIt(pool, clock, attempt.recordId, begun);
    if (begun.state === 'deleted') return 'done';
    try {
      return await remove(attempt, begun, builds, caCertificates);
    } catch (error) {
      if (!attempt.last) throw error;
      return refuse(attempt, begun, {
        problem: 'unavailable',
        message: 'A component of the platform did not answer. Delete the image again later.',
      });
    }
  };
}

async function keepIt(pool: Pool, clock: Clock, id: Id, needed: Needed): Promise<Outcome> {
  // The build ends soon, and the image may then be the one that its deployment runs.
  if (needed.by === 'build') {
    await postponeDeletion(pool, id, 'It waits for a build of its app.');
    return { again: new Date(clock.now().getTime() + waitMs) };
  }
  if (needed.by === 'deployment' && needed.requested) {
    const { app, environment, revision } = needed;
    const message = `The image is in use by revision ${revision} of ${app} in ${environment}.`;
    await refuseDeletion(pool, id, { problem: 'in_use', message });
  }
  return 'done';
}

/** Where an image was built; without the project's identity when the environment, or the project, was deleted since. */
async function placeOf(
  kube: Pick<KubeClient, 'get'>,
  { project, environmentId }: StoredImage,
): Promise<Pick<AuditLine, 'project' | 'projectId' | 'environment'>> {
  const current = await kube.get<Project>(kinds.Project, project);
  const environment = current?.spec.environments.find(({ id }) => id === environmentId);
  // A later project with the same name is another one.
  if (!current || !environment) return { project };
  return { project, projectId: current.metadata.labels?.[idLabel], environment: environment.name };
}

function nameOf({ repository, digest }: StoredImage): string {
  return `${repository}@${digest}`;
}
