import { resolve } from 'node:path';
import { buildImage, ImageBuildError } from '../../infra/local/image-build.ts';
import { homeAt, homeFolder } from '../../infra/local/home.ts';
import { createImageStore } from '../../infra/local/node/images.ts';
import { checkImage } from '../../runtime/domain/image.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { command, type Commands } from '../command.ts';
import { Failure, usageFailure } from '../failure.ts';
import { choice, text, texts, type Flag } from '../flags.ts';
import { columns, fields, outputFormats } from '../output.ts';

const output = choice(outputFormats, 'how to print data (default table)', { short: 'o' });

const tag: Flag<string> = {
  placeholder: '<name:tag>',
  description: 'name of the image, as `svc app create --image` takes it (required)',
  short: 't',
  read(given, name) {
    const [value, ...more] = Array.isArray(given) ? (given as readonly string[]) : [];
    if (value === undefined || more.length > 0) throw usageFailure(`${name} <name:tag> is required, once.`);
    try {
      return checkImage(value, 'tag');
    } catch (error) {
      if (error instanceof Problem) throw usageFailure(error.message);
      throw error;
    }
  },
};

const build = command({
  name: 'build',
  args: ['folder'],
  description: 'Make an image of a folder for the platform on this machine (svc up).',
  flags: {
    tag,
    command: text('<command>', 'how it is started (default: web of its Procfile, or start of its package.json)'),
    env: texts('<name=value>', 'variable that the image brings along'),
    output,
  },
  examples: ['svc image build ./shop -t shop:1', "svc image build ./api -t api:1 --command 'python3 main.py'"],
  async run({ context, args, flags }) {
    const store = createImageStore(homeAt(homeFolder(context.env)).images);
    const env = Object.fromEntries(
      flags.env.map((given) => {
        const [, name, value] = /^([A-Za-z_]\w*)=(.*)$/s.exec(given) ?? [];
        if (name === undefined || value === undefined) throw usageFailure(`--env takes NAME=VALUE; not "${given}".`);
        return [name, value];
      }),
    );
    const { command: given } = flags;
    try {
      const folder = resolve(args.folder);
      const made = await buildImage(store, {
        folder,
        reference: flags.tag,
        env,
        ...(given !== undefined && { command: given }),
      });
      const shown = { image: flags.tag, digest: made.digest, command: made.startedBy };
      context.print(
        {
          data: shown,
          table: fields([
            ['Image', shown.image],
            ['Digest', shown.digest],
            ['Command', shown.command],
          ]),
          names: [shown.image],
        },
        flags.output,
      );
    } catch (error) {
      if (error instanceof ImageBuildError) throw new Failure(error.message, { code: 'not_an_image', cause: error });
      throw error;
    }
  },
});

const list = command({
  name: 'list',
  description: 'List the images of this machine.',
  flags: { output },
  examples: ['svc image list'],
  async run({ context, flags }) {
    const images = await createImageStore(homeAt(homeFolder(context.env)).images).list();
    context.print(
      {
        data: images,
        table: columns([
          ['IMAGE', 'DIGEST'],
          ...images.map(({ reference, digest }) => [reference, digest.slice(0, 19)]),
        ]),
        names: images.map(({ reference }) => reference),
      },
      flags.output,
    );
  },
});

export const imageCommands: Commands = {
  commands: [build, list],
};
