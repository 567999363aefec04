import { isIP } from 'node:net';
import type { z } from 'zod';
import type { serviceCreate } from '../../runtime/contracts/api/services.ts';
import type { PlatformConfigSpec } from '../../runtime/contracts/resources/platform-config.ts';
import {
  credentialFields,
  defaultStorageSize,
  type ServiceSpec,
  type ServiceType,
} from '../../runtime/contracts/resources/service.ts';
import { checkHost } from '../../runtime/domain/names.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { checkBytes } from '../../runtime/domain/quantity.ts';
import { serverOf } from '../../runtime/services/images.ts';

/** Enough for the first start of the smallest server. */
const minStorage = '64Mi';

type ServiceRequest = z.output<typeof serviceCreate>;

/**
 * The spec of a new service. @throws Problem `invalid_value` for conflicting fields, `service_not_installed` for a type that
 * the installation has no image for
 */
export function newServiceSpec(
  { type, external, size, storageClass, credentials }: ServiceRequest,
  config: Pick<PlatformConfigSpec, 'serviceImages'>,
): ServiceSpec {
  if (external) {
    if (size !== undefined || storageClass !== undefined) {
      throw refused('size', 'An external service has no storage in the cluster. Omit size and storage class.');
    }
    if (isIP(external.host) === 0) checkHost(external.host, 'external.host');
    const fields = knownFields(type);
    const unknown = Object.keys(credentials ?? {}).filter((field) => !fields.includes(field));
    if (unknown.length > 0) {
      throw refused(
        'credentials',
        `Credentials of the type ${type} have no ${unknown.join(', ')}. Their fields: ${fields.join(', ')}.`,
      );
    }
    const { host, port, tls } = external;
    return { type, external: { host, ...(port !== undefined && { port }), tls } };
  }
  if (credentials) {
    throw refused('credentials', 'The platform generates the credentials of a managed service. Omit credentials.');
  }
  serverOf(type, config);
  checkBytes(size ?? defaultStorageSize, 'size', { min: minStorage });
  return { type, storage: { size: size ?? defaultStorageSize, ...(storageClass !== undefined && { storageClass }) } };
}

function knownFields(type: ServiceType): readonly string[] {
  return credentialFields[type];
}

function refused(field: string, message: string): Problem {
  return new Problem('invalid_value', message, { details: { field } });
}
