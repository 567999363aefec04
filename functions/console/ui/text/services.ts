/** The texts of the pages of services and volumes. */
export const serviceText = {
  overview: 'Overview',
  noMetrics: 'The platform does not run this service, and has no metrics of it.',
  type: 'Type',
  origin: 'Runs',
  external: 'outside the platform',
  managed: 'on the platform',
  address: 'Address',
  tls: 'TLS',
  tlsRequired: 'required',
  tlsNone: 'not used',
  size: 'Size',
  storageClass: 'Storage class',
  created: 'Created',
  bound: 'Bound workloads',
  unbound: 'No workload is bound to this service.',
  credentials: {
    title: 'Credentials',
    hint: 'Only project admins can show credentials. Each time is recorded in the audit log.',
    show: 'Show credentials',
    dialog: (name: string) => `Credentials of ${name}`,
    what: 'The audit log records that you read the credentials.',
    fields: {
      username: 'Username',
      password: 'Password',
      database: 'Database',
      accessKey: 'Access key',
      secretKey: 'Secret key',
      region: 'Region',
      bucket: 'Bucket',
    },
  },
  deleteManaged: 'The service and all its data are deleted. This cannot be undone. It must not be bound to a workload.',
  deleteExternal:
    'The platform forgets the service and its credentials. The service itself and its data stay. It must not be bound to a workload.',
} as const;

/** The texts of the page of a volume. */
export const volumeText = {
  size: 'Requested size',
  capacity: 'Actual size',
  storageClass: 'Storage class',
  accessMode: 'Access mode',
  created: 'Created',
  mounted: 'Mounted by',
  unmounted: 'No workload mounts this volume.',
  grow: 'Grow',
  growTitle: (name: string) => `Grow ${name}`,
  growWhat: 'A volume can grow and cannot shrink.',
  newSize: 'New size, such as 20Gi',
  delete: 'The volume and all its data are deleted. This cannot be undone. It must not be mounted.',
} as const;
