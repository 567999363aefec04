import { resolve } from 'node:path';
import { homeAt, homeFolder } from '../../infra/local/home.ts';
import { buildImage, ImageBuildError } from '../../infra/local/image-build.ts';
import { createImageStore } from '../../infra/local/node/images.ts';
import { checkImage } from '../../runtime/domain/image.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { command } from '../command.ts';
import { outputFlag } from '../common-flags.ts';
import { exitCodes, Failure, usageFailure } from '../failure.ts';
import { text, texts, type Flag } from '../flags.ts';
import { fields } from '../output.ts';

const tag: Flag<string> = {
  placeholder: '<name:tag>',
  description: 'image name for svc app create --image (required)',
  short: 't',
  read(raw, name) {
    const [value, ...more] = Array.isArray(raw) ? (raw as readonly string[]) : [];
    if (value === undefined || more.length > 0) throw usageFailure(`${name} <name:tag> is required, once.`);
    try {
      return checkImage(value, 'tag');
    } catch (error) {
      if (error instanceof Problem) throw usageFailure(error.message);
      throw error;
    }
  },
};

export const buildCommand = command({
  name: 'build',
  args: ['folder'],
  description: 'Build an image from a folder for the platform on this machine (svc up).',
  flags: {
    tag,
    command: text('<command>', 'start command (default: from Procfile or package.json)'),
    env: texts('<name=value>', 'environment variable in the image'),
    ...outputFlag,
  },
  examples: ['svc image build ./shop -t shop:1', "svc image build ./api -t api:1 --command 'python3 main.py'"],
  async run({ context, args, flags }) {
    const store = createImageStore(homeAt(homeFolder(context.env)).images);
    const env = Object.fromEntries(
      flags.env.map((text) => {
        const [, name, value] = /^([A-Za-z_]\w*)=(.*)$/s.exec(text) ?? [];
        if (name === undefined || value === undefined) throw usageFailure(`--env takes NAME=VALUE, not "${text}".`);
        return [name, value];
      }),
    );
    const { command: startCommand } = flags;
    try {
      const folder = resolve(args.folder);
      const image = await buildImage(store, {
        folder,
        reference: flags.tag,
        env,
        ...(startCommand !== undefined && { command: startCommand }),
      });
      const view = { image: flags.tag, digest: image.digest, command: image.startedBy };
      context.print(
        {
          data: view,
          table: fields([
            ['Image', view.image],
            ['Digest', view.digest],
            ['Command', view.command],
          ]),
          names: [view.image],
        },
        flags.output,
      );
    } catch (error) {
      if (error instanceof ImageBuildError)
        throw new Failure(error.message, { code: 'not_an_image', exitCode: exitCodes.usage, cause: error });
      throw error;
    }
  },
});
