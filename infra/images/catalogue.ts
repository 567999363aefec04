import type { BaseName } from './base.ts';

/** One image of the platform, built from `infra/images/<name>/Dockerfile`. */
export interface ImageDefinition {
  name: string;
  /** The local base that replaces the Dockerfile's public one. */
  base: BaseName;
  /** The build context, from the repository's root. */
  context: string;
  /** The parts of the context that the build reads. The image is rebuilt when their digest changes. */
  inputs: readonly string[];
  /** Tag → build arguments. `version` stands for the version in package.json. */
  variants: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** Whether the embedded cluster, which runs pods as processes, has no use for it. */
  containersOnly?: true;
}

/** The file with patterns of files that no build reads, relative to the repository's root. */
export const ignoreFile = 'infra/images/containerignore';

const small = (name: string, base: BaseName, variants: ImageDefinition['variants']): ImageDefinition => ({
  name,
  base,
  context: `infra/images/${name}`,
  inputs: [`infra/images/${name}`, ignoreFile],
  variants,
});

/** All images that the platform and its demo need. */
export const images: readonly ImageDefinition[] = [
  {
    name: 'platform',
    base: 'platform',
    context: '.',
    inputs: [
      'infra/images/platform',
      ignoreFile,
      'package.json',
      'package-lock.json',
      'runtime',
      'infra/manifests',
      'functions',
      'gate',
      'workers',
    ],
    variants: { version: {} },
  },
  small('function-node', 'node22', { version: {} }),
  small('function-python', 'python', { version: {} }),
  small('hello', 'node24', { v1: { VERSION: 'v1' }, v2: { VERSION: 'v2' } }),
  small('postgres', 'postgres', { version: {} }),
  small('redis', 'redis', { version: {} }),
  small('mariadb', 'mariadb', { version: {} }),
  small('minio', 'minio', { version: {} }),
  small('ferretdb', 'ferretdb', { version: {} }),
  {
    name: 'builder',
    base: 'builder',
    context: '.',
    inputs: [
      'infra/images/builder',
      ignoreFile,
      'runtime/git/git.ts',
      'runtime/git/address.ts',
      'runtime/git/failure.ts',
      'runtime/domain/certificates.ts',
      'runtime/domain/source-stream.ts',
      'runtime/domain/folder-plan.ts',
      'runtime/domain/registry-credentials.ts',
      'runtime/domain/git-source.ts',
      'runtime/domain/public-key.ts',
      'runtime/domain/problem.ts',
      'runtime/domain/address.ts',
      'runtime/domain/network.ts',
      'runtime/domain/public-address.ts',
      'runtime/domain/special-addresses.ts',
    ],
    variants: { version: {} },
  },
  // The base images of other images.
  { ...small('build-python', 'python', { version: {} }), containersOnly: true },
  { ...small('build-go', 'go', { version: {} }), containersOnly: true },
  ...['prometheus', 'node-exporter', 'alertmanager'].map((name): ImageDefinition => ({
    ...small(name, 'monitoring', { version: {} }),
    containersOnly: true,
  })),
];
