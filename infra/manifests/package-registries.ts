import type { PlatformConfigSpec } from '../../runtime/contracts/resources/platform-config.ts';

export type PackageRegistries = NonNullable<PlatformConfigSpec['packageRegistries']>;

/** The variables by which npm and pip are told of the installation's registry; none for the public one. Pure. */
export function registryVariables(
  registries: PackageRegistries = {},
  of: keyof PackageRegistries,
): { name: string; value: string }[] {
  const address = registries[of];
  if (address === undefined) return [];
  if (of === 'npm') return [{ name: 'npm_config_registry', value: address }];
  const { protocol, host } = new URL(address);
  return [
    { name: 'PIP_INDEX_URL', value: address },
    // Without TLS pip asks nobody whom it was not told to trust.
    ...(protocol === 'http:' ? [{ name: 'PIP_TRUSTED_HOST', value: host }] : []),
  ];
}
