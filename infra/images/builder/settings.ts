import { BuildFailure } from './failure.ts';

/** What the pod of a build is told: `infra/manifests/build-job.ts` writes it. */
export interface BuildSettings {
  /** Where the source goes, and where what is made of it is put together. */
  workspace: string;
  url: string;
  branch: string | undefined;
  commit: string | undefined;
  path: string;
  dockerfile: string | undefined;
  /** Over ssh: the keys of the git server, one of which it has to prove. */
  hostKeys: string[] | undefined;
  /** The image's name, as nodes pull it, with its tag. */
  image: string;
  /** The same image's name, as it is pushed. */
  target: string;
  /** Whether that registry is spoken to without TLS. */
  plainHttp: boolean;
  /** What generated Dockerfiles begin with. */
  baseImages: { node: string; python: string };
  /** Where the result is written. */
  resultFile: string;
}

/** What a build made: the message that its pod ends with. */
export interface BuildResult {
  image: string;
  digest: string;
  commit: string;
  commitMessage: string;
  commitAuthor: string;
}

/** Reads the settings. @throws BuildFailure when one is missing */
export function readSettings(env: Readonly<Record<string, string | undefined>>): BuildSettings {
  const given = (name: string) => env[name] || undefined;
  const needed = (name: string) => {
    const value = given(name);
    if (value === undefined) throw new BuildFailure(`the variable ${name} is missing`);
    return value;
  };
  return {
    workspace: needed('BUILD_WORKSPACE'),
    url: needed('BUILD_URL'),
    branch: given('BUILD_BRANCH'),
    commit: given('BUILD_COMMIT'),
    path: given('BUILD_PATH') ?? '.',
    dockerfile: given('BUILD_DOCKERFILE'),
    hostKeys: given('BUILD_HOST_KEYS')?.split('\n'),
    image: needed('BUILD_IMAGE'),
    target: needed('BUILD_TARGET'),
    plainHttp: given('BUILD_PLAIN_HTTP') === 'true',
    baseImages: { node: given('BUILD_BASE_NODE') ?? '', python: given('BUILD_BASE_PYTHON') ?? '' },
    resultFile: needed('BUILD_RESULT'),
  };
}
