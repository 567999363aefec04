import { existsSync } from 'node:fs';

/** The file with this step's registry credentials; undefined without any, because buildah and skopeo refuse a missing file. */
export function credentialsFile(): string | undefined {
  const file = process.env['REGISTRY_AUTH_FILE'];
  return file !== undefined && existsSync(file) ? file : undefined;
}

/**
 * What `Authorization: Basic` carries for a registry, from the text of such a file. Pure.
 * https://kubernetes.io/docs/tasks/configure-pod-container/pull-image-private-registry/
 */
export function basicCredentials(text: string, registry: string): string | undefined {
  const { auths = {} } = JSON.parse(text) as { auths?: Record<string, { auth?: string }> };
  return auths[registry]?.auth;
}
