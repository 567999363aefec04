import type { BaseImages } from '../../../runtime/domain/folder-plan.ts';
import { BuildFailure } from './failure.ts';

/** The settings of a build, which `infra/manifests/build.ts` puts into variables. */
export interface BuildSettings {
  /** The folder for the source and for temporary files. */
  workspace: string;
  /** The git repository; undefined for an upload. */
  url: string | undefined;
  /** Where the uploaded files are; undefined for a repository. */
  sourceUrl: string | undefined;
  branch: string | undefined;
  commit: string | undefined;
  path: string;
  dockerfile: string | undefined;
  /** The host keys that the git server may have, for ssh. */
  hostKeys: string[] | undefined;
  /** Private networks whose git servers may be used. */
  gitNetworks: string[];
  /** The image's name with its tag, as nodes pull it. */
  image: string;
  /** The name to push the same image to. */
  target: string;
  /** The digest of the app's last image in that repository, whose dependencies this build may use. */
  cacheDigest: string | undefined;
  /** Whether that registry is used without TLS. */
  plainHttp: boolean;
  /** The base images of generated Dockerfiles. */
  baseImages: BaseImages;
  /** The file for the result. */
  resultFile: string;
}

/** The result of the push, which is the termination message of its container. */
export interface PushedImage {
  image: string;
  digest: string;
  /** What it takes as an archive, in bytes. */
  sizeBytes: number;
}

/** Reads the settings. @throws BuildFailure when one is missing */
export function readSettings(env: Readonly<Record<string, string | undefined>>): BuildSettings {
  const optional = (name: string) => env[name] || undefined;
  const required = (name: string) => {
    const value = optional(name);
    if (value === undefined) throw new BuildFailure(`the environment variable ${name} is not set`);
    return value;
  };
  return {
    workspace: required('BUILD_WORKSPACE'),
    url: optional('BUILD_URL'),
    sourceUrl: optional('BUILD_SOURCE_URL'),
    branch: optional('BUILD_BRANCH'),
    commit: optional('BUILD_COMMIT'),
    path: optional('BUILD_PATH') ?? '.',
    dockerfile: optional('BUILD_DOCKERFILE'),
    hostKeys: optional('BUILD_HOST_KEYS')?.split('\n'),
    gitNetworks: optional('BUILD_GIT_NETWORKS')?.split(',') ?? [],
    image: required('BUILD_IMAGE'),
    target: required('BUILD_TARGET'),
    cacheDigest: optional('BUILD_CACHE_DIGEST'),
    plainHttp: optional('BUILD_PLAIN_HTTP') === 'true',
    baseImages: {
      node: optional('BUILD_BASE_NODE'),
      python: optional('BUILD_BASE_PYTHON'),
      go: optional('BUILD_BASE_GO'),
    },
    resultFile: required('BUILD_RESULT'),
  };
}
