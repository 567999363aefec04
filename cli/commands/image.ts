import { imagesPruned, imageView, type ImageView } from '../../runtime/contracts/api/images.ts';
import { keptImagesRange } from '../../runtime/domain/platform-profile.ts';
import { command, type Commands } from '../command.ts';
import { scopeFlags, yesFlag } from '../common-flags.ts';
import type { Context } from '../context.ts';
import { confirmDeletion } from '../deletion.ts';
import { Failure } from '../failure.ts';
import { amount, text, toggle } from '../flags.ts';
import { ago, table } from '../output.ts';
import { confirm } from '../prompt.ts';
import { resolveScope, type Scope } from '../scope.ts';
import { sizeText } from '../units.ts';
import { waitFlags, waitFor, type WaitFlags } from '../wait.ts';

const localFlag = toggle('images on this machine, from svc image build (svc up)');

const imageKind = {
  name: 'image',
  plural: 'images',
  id: ({ name }: ImageView) => name,
  path: (scope: Scope, name: string) => scope.path('images', name),
  read: (scope: Scope, name: string) =>
    scope.api.call('GET', scope.path('images', name), imageView, { query: scope.query }),
};

/** `3`, or `prod/shop:3` for a revision of another app or environment. */
function revisionsText({ revisions, app, environment }: ImageView): string | undefined {
  const texts = revisions.map((each) => {
    const other = each.app !== app || each.environment !== environment;
    return other ? `${each.environment}/${each.app}:${each.revision}` : String(each.revision);
  });
  return [...texts.slice(0, 5), ...(texts.length > 5 ? ['…'] : [])].join(', ') || undefined;
}

function imagesTable(images: readonly ImageView[], now: Date): string {
  return table(images, [
    { title: 'IMAGE', value: ({ name }) => name },
    { title: 'DIGEST', value: ({ digest }) => digest.slice(0, 19) },
    { title: 'REVISIONS', value: revisionsText },
    { title: 'SIZE', value: ({ sizeBytes }) => sizeBytes && sizeText(sizeBytes) },
    { title: 'IN USE', value: ({ inUse }) => (inUse ? 'yes' : 'no') },
    { title: 'STATUS', value: ({ status }) => status },
    { title: 'BUILT', value: ({ builtAt }) => ago(builtAt, now) },
    { title: 'MESSAGE', value: ({ message }) => message },
  ]);
}

const list = command({
  name: 'list',
  description: 'List the images that builds made, newest first.',
  flags: { app: text('<app>', 'only images of this app'), local: localFlag, ...scopeFlags },
  data: imageView,
  watch: true,
  examples: ['svc image list', 'svc image list --app shop -o json', 'svc image list --local'],
  async run({ context, flags }) {
    if (flags.local) {
      const { listLocalImages } = await import('./image-local.ts');
      await listLocalImages(context, flags.output);
      return;
    }
    const scope = resolveScope(context, flags);
    const images = await scope.api.list(scope.path('images'), imageView, { ...scope.query, app: flags.app });
    context.print(
      { data: images, table: imagesTable(images, context.clock.now()), names: images.map(({ name }) => name) },
      flags.output,
    );
  },
});

/**
 * Waits until an image is deleted.
 * @param position the place among the images that are deleted, such as `1 of 3: `, for the progress
 * @throws Failure with the registry's reason when it is not
 */
async function waitForDeletion(
  context: Context,
  flags: WaitFlags,
  scope: Scope,
  { id, name }: ImageView,
  position = '',
): Promise<ImageView> {
  return waitFor(
    context,
    flags,
    async () => {
      const current = await imageKind.read(scope, id);
      if (current.status === 'deleted') return { done: current };
      if (current.status === 'stored' && current.problem !== undefined) {
        throw new Failure(`The image ${name} was not deleted. ${current.message ?? ''}`.trim(), {
          code: current.problem,
        });
      }
      const { message } = current;
      return { progress: `${position}${name}: deleting${message === undefined ? '' : `. ${message}`}` };
    },
    `svc image list ${scope.flags}`,
  );
}

const remove = command({
  name: 'delete',
  args: ['...images'],
  description: 'Delete images that nothing uses from the registry.',
  flags: { local: localFlag, ...yesFlag, ...waitFlags, ...scopeFlags },
  examples: ['svc image delete shop:3-1f0c2b4d5e6f7a8b', 'svc image delete shop:1 --local --yes'],
  async run({ context, args, flags }) {
    if (flags.local) {
      const { deleteLocalImages } = await import('./image-local.ts');
      await deleteLocalImages(context, flags, args.images);
      return;
    }
    const scope = resolveScope(context, flags);
    const images = await confirmDeletion(context, flags, {
      kind: imageKind,
      scope,
      names: args.images,
      loss: 'all revisions that only they can restore',
    });
    for (const { name } of images) await scope.api.send('DELETE', imageKind.path(scope, name), { query: scope.query });
    for (const { view } of images) {
      if (flags.wait) await waitForDeletion(context, flags, scope, view);
      context.say(`image ${view.name} ${flags.wait ? 'is deleted' : 'is being deleted'}`);
    }
  },
});

const prune = command({
  name: 'prune',
  description: 'Delete images that nothing uses, except the newest of each app.',
  flags: {
    keep: amount('<n>', 'images to keep of each app (default: the setting --keep-images)', keptImagesRange),
    app: text('<app>', 'only images of this app'),
    dryRun: toggle('only list the images'),
    ...yesFlag,
    ...waitFlags,
    ...scopeFlags,
  },
  data: imageView,
  examples: ['svc image prune --dry-run', 'svc image prune --keep 2 --app shop --yes'],
  async run({ context, flags }) {
    const scope = resolveScope(context, flags);
    const body = {
      ...(flags.keep !== undefined && { keep: flags.keep }),
      ...(flags.app !== undefined && { app: flags.app }),
    };
    const call = (dryRun: boolean) =>
      scope.api.call('POST', `${scope.path('images')}/prune`, imagesPruned, {
        query: scope.query,
        body: { ...body, dryRun },
      });
    const plan = await call(true);
    const count = `${plan.images.length}${plan.more ? ' or more' : ''} ${plan.images.length === 1 ? 'image' : 'images'}`;
    const print = (images: readonly ImageView[]) =>
      context.print(
        { data: images, table: imagesTable(images, context.clock.now()), names: images.map(({ name }) => name) },
        flags.output,
      );
    if (plan.images.length === 0 || flags.dryRun) {
      if (plan.images.length === 0) context.say('nothing to delete');
      else if (plan.more) context.say(`the oldest ${plan.images.length} images are listed; there are more`);
      print(plan.images);
      return;
    }
    await confirm(context, flags, `Delete ${count}, and keep the newest ${plan.keep} of each app?`);
    const requested: ImageView[] = [];
    for (let more = true; more;) {
      const page = await call(false);
      requested.push(...page.images);
      ({ more } = page);
    }
    const deleted: ImageView[] = [];
    for (const [index, image] of flags.wait ? requested.entries() : []) {
      deleted.push(await waitForDeletion(context, flags, scope, image, `${index + 1} of ${requested.length}: `));
    }
    context.say(
      `${requested.length} ${requested.length === 1 ? 'image' : 'images'} ${flags.wait ? 'deleted' : 'are being deleted'}`,
    );
    print(flags.wait ? deleted : requested);
  },
});

export const imageCommands: Commands = {
  commands: [list, remove, prune, { name: 'build', load: async () => (await import('./image-build.ts')).buildCommand }],
};
