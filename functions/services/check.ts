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
import { serverOf } from '../../runtime/host/service-images.ts';

/** What the smallest server writes at its first start fits into it. */
const leastStorage = '64Mi';

type Wanted = z.output<typeof serviceCreate>;

/**
 * The spec of a new service. @throws Problem `invalid_value` for what does not go together, `service_not_installed` for a
 * type that this installation has no server for
 */
export function newServiceSpec(
  { type, external, size, storageClass, credentials }: Wanted,
  config: Pick<PlatformConfigSpec, 'serviceImages'>,
): ServiceSpec {
  if (external) {
    if (size !== undefined || storageClass !== undefined) {
      throw refused('size', 'An external service has its storage elsewhere; leave out size and storage class.');
    }
    if (isIP(external.host) === 0) checkHost(external.host, 'external.host');
    const others = Object.keys(credentials ?? {}).filter((field) => !knownFields(type).includes(field));
    if (others.length > 0) {
      const known = knownFields(type).join(', ');
      throw refused('credentials', `A service of type ${type} has no ${others.join(', ')}; it has ${known}.`);
    }
    const { host, port, tls } = external;
    return { type, external: { host, ...(port !== undefined && { port }), tls } };
  }
  if (credentials) {
    throw refused('credentials', 'The platform makes the credentials of a service that it runs; give none.');
  }
  serverOf(type, config);
  checkBytes(size ?? defaultStorageSize, 'size', { min: leastStorage });
  return { type, storage: { size: size ?? defaultStorageSize, ...(storageClass !== undefined && { storageClass }) } };
}

function knownFields(type: ServiceType): readonly string[] {
  return credentialFields[type];
}

function refused(field: string, message: string): Problem {
  return new Problem('invalid_value', message, { details: { field } });
}
