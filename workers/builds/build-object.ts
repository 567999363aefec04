import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import type { App } from '../../runtime/contracts/resources/app.ts';
import type { Build } from '../../runtime/contracts/resources/build.ts';
import type { GitSource } from '../../runtime/domain/git-source.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import {
  appLabel,
  buildNamespace,
  environmentLabel,
  idLabel,
  managedLabels,
  projectLabel,
} from '../../runtime/domain/labels.ts';
import type { BuildRecord } from './store.ts';

/** The name of a deployment's Build; a deployment has at most one. */
export function buildName(deploymentId: Id): string {
  return `build-${deploymentId}`;
}

/** Where a build's files come from: a repository, with the accepted host keys of its server, or an uploaded folder. */
export type BuildSource = GitSource | { upload: true; dockerfile: string | null };

interface BuildOptions {
  timeoutSeconds: number;
  /** The digest of the app's last image; undefined without one. */
  cacheDigest: string | undefined;
}

/** The Build of a deployment. Pure. */
export function buildOf(
  record: BuildRecord,
  app: Stored<App>,
  source: BuildSource,
  { timeoutSeconds, cacheDigest }: BuildOptions,
): Build {
  const labels = app.metadata.labels ?? {};
  return {
    apiVersion: 'platform.svc/v1',
    kind: 'Build',
    metadata: {
      name: buildName(record.id),
      namespace: buildNamespace,
      labels: {
        ...managedLabels(),
        [idLabel]: record.id,
        [appLabel]: record.name,
        [projectLabel]: labels[projectLabel] ?? '',
        [environmentLabel]: labels[environmentLabel] ?? '',
      },
    },
    spec: {
      app: record.name,
      namespace: record.namespace,
      deploymentId: record.id,
      revision: record.revision,
      timeoutSeconds,
      ...(cacheDigest !== undefined && { cacheDigest }),
      source: specOf(record, source),
    },
  };
}

function specOf({ commit }: BuildRecord, source: BuildSource): Build['spec']['source'] {
  if ('upload' in source) return { upload: true, ...(source.dockerfile !== null && { dockerfile: source.dockerfile }) };
  const { url, branch, path, dockerfile, hostKeys } = source;
  return {
    url,
    branch,
    ...(commit !== null && { commit }),
    ...(path !== undefined && { path }),
    ...(dockerfile !== undefined && { dockerfile }),
    ...(hostKeys !== undefined && { hostKeys }),
  };
}
