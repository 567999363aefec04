/** The texts of the page of images, and of its dialogs. */
export const imageText = {
  title: 'Images',
  hint: 'What builds made of git repositories and folders. Images that nothing needs are deleted by themselves.',
  empty: 'No build has made an image here.',
  emptyHint: 'A build makes one from a folder on your machine, or from the git repository of an app:',
  emptyOf: (app: string) => `No build has made an image of ${app}.`,
  app: 'App',
  allApps: 'all apps',
  image: 'Image',
  digest: 'Digest',
  revisions: 'Revisions',
  more: (count: number) => `and ${count} more`,
  size: 'Size',
  use: 'Use',
  inUse: 'in use',
  usedBy: (app: string, revision: number, environment: string) => `${app} ${revision} in ${environment}`,
  unused: 'not in use',
  status: 'Status',
  built: 'Built',
  actions: 'Actions',
  delete: 'Delete',
  deleteName: (name: string) => `Delete ${name}`,
  deleteTitle: (name: string) => `Delete ${name}?`,
  deleteWhat: (count: number) =>
    count === 0
      ? 'The registry deletes the image with all its tags. This cannot be undone.'
      : `The registry deletes the image with all its tags, and ${count === 1 ? 'one revision' : `${count} revisions`} can no longer be restored. This cannot be undone.`,
  requested: (count: number) => (count === 1 ? 'One image is being deleted.' : `${count} images are being deleted.`),
  prune: {
    open: 'Delete unused images',
    title: 'Delete unused images',
    what: 'Of each app, the newest images of its rollback history stay, and those in use.',
    keep: 'Images to keep of each app (empty: as many as the clean-up keeps)',
    show: 'Show what is deleted',
    none: 'There is nothing to delete.',
    planned: (count: number, keep: number) =>
      `${count === 1 ? 'This image is' : `These ${count} images are`} deleted; ${keep === 1 ? 'the newest one of each app stays' : `the newest ${keep} of each app stay`}:`,
    delete: (count: number) => (count === 1 ? 'Delete one image' : `Delete ${count} images`),
    more: 'There are more. Repeat this afterwards.',
  },
} as const;
