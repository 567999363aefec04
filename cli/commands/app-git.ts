import { gitSourceView, type GitSourceView } from '../../runtime/contracts/api/git.ts';
import { command, type Group } from '../command.ts';
import { scopeFlags, unaskedFlag } from '../common-flags.ts';
import { requiredText, text, toggle, unless } from '../flags.ts';
import { gitSourceFlags, gitSourceOf } from '../git-source.ts';
import { ago, fields, type Shown } from '../output.ts';
import { placeOf } from '../place.ts';
import { buildCommit } from './app-deploy.ts';

function hostKeyText({ type, fingerprint, given }: NonNullable<GitSourceView['hostKeys']>[number]): string {
  return `${type} ${fingerprint} (${given ? 'given' : 'as first shown'})`;
}

function shown(app: string, git: GitSourceView, now: Date): Shown {
  return {
    data: git,
    table: fields([
      ['Git source', git.configured ? git.url : 'none'],
      ['Branch', git.branch],
      ['Path', git.path],
      ['Dockerfile', git.dockerfile],
      ['Credentials', git.credentials],
      ['Public key', git.deployKey],
      ['Host keys', git.hostKeys?.map(hostKeyText).join(', ')],
      ['Last commit', git.commit],
      ['Last poll', git.configured ? (git.polledAt ? ago(git.polledAt, now) : 'not yet') : undefined],
      ['Error', git.error],
    ]),
    names: [app],
  };
}

const set = command({
  name: 'set',
  args: ['app'],
  description: "Build an app's images from a git repository; each new commit on the branch is deployed.",
  flags: {
    url: requiredText('<url>', 'the repository, over https, http or ssh'),
    ...gitSourceFlags,
    credentials: unless('forget the token or key that the app has'),
    newHostKey: toggle('forget the ssh server, and keep the key that it shows next'),
    ...scopeFlags,
  },
  examples: [
    'svc app git set api --url https://git.example.com/shop/api.git',
    'svc app git set api --url https://git.example.com/shop/mono.git --branch release/2 --path services/api --token-file token',
    'svc app git set api --url git@git.example.com:shop/api.git --deploy-key-file ~/.ssh/api',
    'svc app git set api --url git@git.example.com:shop/api.git --known-hosts known_hosts',
  ],
  async run({ context, args, flags }) {
    const body = await gitSourceOf(context, flags.url, flags);
    const place = placeOf(context, flags);
    const path = place.path('apps', args.app, 'git');
    const git = await place.api.call('PUT', path, gitSourceView, { query: place.query, body });
    context.print(shown(args.app, git, context.clock.now()), flags.output);
    context.say(`its newest commit is built and deployed; see: svc app history ${args.app} ${place.flags}`);
  },
});

const status = command({
  name: 'status',
  args: ['app'],
  description: 'Show the git source of an app, the last commit that was seen, and why it could not be reached.',
  flags: scopeFlags,
  examples: ['svc app git status api', 'svc app git status api -o json'],
  async run({ context, args, flags }) {
    const place = placeOf(context, flags);
    const path = place.path('apps', args.app, 'git');
    const git = await place.api.call('GET', path, gitSourceView, { query: place.query });
    context.print(shown(args.app, git, context.clock.now()), flags.output);
  },
});

const remove = command({
  name: 'remove',
  args: ['app'],
  description: 'Detach the git source: the app keeps running its image, and images are accepted again.',
  flags: { ...unaskedFlag, ...scopeFlags },
  examples: ['svc app git remove api --project shop --environment prod'],
  async run({ context, args, flags }) {
    const place = placeOf(context, flags);
    await place.api.send('DELETE', place.path('apps', args.app, 'git'), { query: place.query });
    const update = `svc app update ${args.app} --image <image> ${place.flags}`;
    context.say(`${args.app} has no git source any more; deploy images: ${update}`);
  },
});

const sync = command({
  name: 'sync',
  args: ['app'],
  description: 'Look for a new commit now, instead of within the next minute.',
  flags: scopeFlags,
  examples: ['svc app git sync api'],
  async run({ context, args, flags }) {
    const place = placeOf(context, flags);
    await place.api.send('POST', place.path('apps', args.app, 'git/sync'), { query: place.query });
    context.say(`the repository of ${args.app} is asked now; see: svc app git status ${args.app} ${place.flags}`);
  },
});

const build = command({
  name: 'build',
  args: ['app'],
  description: 'Build and deploy a commit, or the branch as it is now.',
  flags: { commit: text('<commit>', 'the commit, as 7 to 40 hexadecimal digits'), ...scopeFlags },
  examples: ['svc app git build api', 'svc app git build api --commit 3f2a9c1'],
  async run({ context, args, flags }) {
    const place = placeOf(context, flags);
    const accepted = await buildCommit(place, args.app, flags.commit);
    context.print(
      {
        data: accepted,
        table: fields([
          ['Deployment', accepted.id],
          ['Revision', String(accepted.revision)],
          ['Status', accepted.status],
        ]),
        names: [accepted.id],
      },
      flags.output,
    );
  },
});

export const gitGroup: Group = {
  name: 'git',
  description: 'Images built from a git repository.',
  commands: [set, status, sync, build, remove],
};
