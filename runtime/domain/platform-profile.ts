/** The size of the installation, which decides the resources for monitoring. */
export const platformProfiles = ['nano', 'small', 'medium', 'large', 'xlarge'] as const;

export type PlatformProfile = (typeof platformProfiles)[number];

/** The default profile. */
export const defaultProfile: PlatformProfile = 'small';

/** The most generic pods of a pool. */
export const warmPodsMax = 10;

/** The generic pods of a pool, where the settings do not say. */
export function profileWarmPods(profile: PlatformProfile = defaultProfile): number {
  return profile === 'nano' ? 0 : 1;
}

/** Range of the time limit of builds, in seconds: pods need time to start, and other builds wait. */
export const buildTimeoutRange = { min: 10, max: 86_400 };

/** Accepted numbers of pods of an environment. */
export const podsRange = { min: 1, max: 10_000 } as const;

/** Accepted numbers of images that are kept of each app. */
export const keptImagesRange = { min: 1, max: 500 } as const;

/** How images of git sources are made: with buildah, or as the folders that the embedded cluster runs. */
export const imageMakers = ['buildah', 'folder'] as const;
