import type { ServiceCredentials, ServiceView } from '../../../../runtime/contracts/api/services.ts';

type ServiceType = ServiceView['type'];

/** The credentials that services of a type have, in the order of the form. */
export const credentialFields = {
  postgres: ['username', 'password', 'database'],
  mysql: ['username', 'password', 'database'],
  mongodb: ['username', 'password', 'database'],
  redis: ['username', 'password'],
  minio: ['accessKey', 'secretKey', 'region', 'bucket'],
} as const satisfies Record<ServiceType, readonly (keyof ServiceCredentials)[]>;

/** The credentials that are secret: the page does not keep them. */
export const isSecret = (field: keyof ServiceCredentials) => field === 'password' || field === 'secretKey';

/** What the form of a new service has, without its password. The API checks it. */
export interface ServiceDraft {
  name: string;
  type: ServiceType;
  external: boolean;
  size: string;
  storageClass: string;
  host: string;
  port: string;
  tls: boolean;
  credentials: Readonly<Partial<Record<keyof ServiceCredentials, string>>>;
  /** Whether the form has a password or secret key. */
  hasSecret: boolean;
}

export const newService: ServiceDraft = {
  name: '',
  type: 'postgres',
  external: false,
  size: '',
  storageClass: '',
  host: '',
  port: '',
  tls: false,
  credentials: {},
  hasSecret: false,
};

/** The credentials that the type has and the form fills. */
function filled({ type, credentials }: ServiceDraft): [field: keyof ServiceCredentials, value: string][] {
  return credentialFields[type].flatMap((field) => {
    const value = credentials[field] ?? '';
    return value === '' ? [] : [[field, value] as [keyof ServiceCredentials, string]];
  });
}

/** The body of the request that creates the service; empty texts are left out. @param secret the password, or secret key */
export function serviceBody(draft: ServiceDraft, secret: string): Record<string, unknown> {
  const { name, type, external, size, storageClass, host, port, tls } = draft;
  if (!external) {
    return { name, type, ...(size !== '' && { size }), ...(storageClass !== '' && { storageClass }) };
  }
  const credentials = Object.fromEntries(filled(draft));
  const secretField = credentialFields[type].find(isSecret);
  if (secret !== '' && secretField !== undefined) credentials[secretField] = secret;
  return {
    name,
    type,
    external: { host: host.trim(), ...(port !== '' && { port: Number(port) }), tls },
    ...(Object.keys(credentials).length > 0 && { credentials }),
  };
}

const flags: Readonly<Partial<Record<keyof ServiceCredentials, string>>> = {
  username: '--username',
  database: '--database',
  accessKey: '--access-key',
  region: '--region',
  bucket: '--bucket',
};

/** The words of the command that creates the same service. `svc` asks for the password of a user, and reads any other. */
export function serviceWords(draft: ServiceDraft): string[] {
  const { name, type, external, size, storageClass, host, port, tls } = draft;
  const words = ['service', 'create', name.trim() || 'orders', '--type', type];
  if (!external) {
    return [
      ...words,
      ...(size === '' ? [] : ['--size', size]),
      ...(storageClass === '' ? [] : ['--storage-class', storageClass]),
    ];
  }
  const address = host.trim() || 'db.example.com';
  const hasOwner = filled(draft).some(([field]) => field === 'username' || field === 'accessKey');
  const bracketed = port !== '' && address.includes(':') ? `[${address}]` : address;
  return [
    ...words,
    ...['--external', port === '' ? address : `${bracketed}:${port}`],
    ...(tls ? ['--tls'] : []),
    ...filled(draft).flatMap(([field, value]) => (flags[field] === undefined ? [] : [flags[field], value])),
    ...(draft.hasSecret && !hasOwner ? ['--password-stdin'] : []),
  ];
}
