import { existsSync, readFileSync } from 'node:fs';
import { basicCredentials } from '../../../runtime/domain/registry-credentials.ts';

/** The file with this step's registry credentials; undefined without any, because buildah and skopeo refuse a missing file. */
export function credentialsFile(): string | undefined {
  const file = process.env['REGISTRY_AUTH_FILE'];
  return file !== undefined && existsSync(file) ? file : undefined;
}

/** This step's credentials for a registry, as a header. */
export function authorization(registry: string): { authorization?: string } {
  const file = credentialsFile();
  const credentials = file && basicCredentials(readFileSync(file, 'utf8'), registry);
  return credentials ? { authorization: `Basic ${credentials}` } : {};
}
