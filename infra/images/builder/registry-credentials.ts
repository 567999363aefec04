import { existsSync } from 'node:fs';

/** The file with this step's registry credentials; undefined without any, because buildah and skopeo refuse a missing file. */
export function credentialsFile(): string | undefined {
  const file = process.env['REGISTRY_AUTH_FILE'];
  return file !== undefined && existsSync(file) ? file : undefined;
}
