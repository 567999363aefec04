import type { V1EnvVar } from '@kubernetes/client-node';
import type { PlatformConfigSpec } from '../../runtime/contracts/resources/platform-config.ts';

export type PackageRegistries = NonNullable<PlatformConfigSpec['packageRegistries']>;

/** Where packages come from, and the CAs that are trusted there besides the public ones. */
export type PackageSources = Pick<PlatformConfigSpec, 'packageRegistries' | 'caCertificates'>;

/** The variables that set the registry of npm or pip, or Go's proxy; none for the public ones. Pure. */
export function registryVariables(registries: PackageRegistries = {}, name: keyof PackageRegistries): V1EnvVar[] {
  const address = registries[name];
  if (address === undefined) return [];
  if (name === 'npm') return [{ name: 'npm_config_registry', value: address }];
  if (name === 'go') return [{ name: 'GOPROXY', value: address }];
  const { protocol, host } = new URL(address);
  return [
    { name: 'PIP_INDEX_URL', value: address },
    // pip refuses a registry without TLS unless its host is trusted.
    ...(protocol === 'http:' ? [{ name: 'PIP_TRUSTED_HOST', value: host }] : []),
  ];
}
