import { gitSourceView, type GitSourceView } from '../../runtime/contracts/api/git.ts';
import { command, type Commands } from '../command.ts';
import type { Context } from '../context.ts';
import { Failure } from '../failure.ts';
import { scopeFlags, noPromptFlag } from '../common-flags.ts';
import { requiredText, text, toggle, negated } from '../flags.ts';
import { gitSourceFlags, gitSourceBody } from '../git-source.ts';
import { ago, fields, type Output } from '../output.ts';
import { resolveScope, type Scope } from '../scope.ts';
import { waitFlags, waitFor, type WaitFlags } from '../wait.ts';
import { buildCommit } from './app-deploy.ts';

function hostKeyText({ type, fingerprint, given }: NonNullable<GitSourceView['hostKeys']>[number]): string {
  return `${type} ${fingerprint} (${given ? 'given' : 'first seen'})`;
}

function toOutput(app: string, git: GitSourceView, now: Date): Output {
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
  description: 'Build an app from a git repository, and deploy each new commit.',
  flags: {
    url: requiredText('<url>', 'repository URL (https, http or ssh)'),
    ...gitSourceFlags,
    credentials: negated('remove the stored token or key'),
    newHostKey: toggle('replace the stored host key at the next connection'),
    ...waitFlags,
    ...scopeFlags,
  },
  data: gitSourceView,
  examples: [
    'svc app git set api --url https://git.example.com/shop/api.git',
    'svc app git set api --url https://git.example.com/shop/mono.git --branch release/2 --path services/api --token-file token',
    'svc app git set api --url git@git.example.com:shop/api.git --deploy-key-file ~/.ssh/api',
    'svc app git set api --url git@git.example.com:shop/api.git --known-hosts known_hosts',
  ],
  async run({ context, args, flags }) {
    const body = await gitSourceBody(context, flags.url, flags);
    const scope = resolveScope(context, flags);
    const path = scope.path('apps', args.app, 'git');
    const read = () => scope.api.call('GET', path, gitSourceView, { query: scope.query });
    let git = await scope.api.call('PUT', path, gitSourceView, { query: scope.query, body });
    if (flags.wait) git = await untilPolled(context, { scope, app: args.app, read, flags });
    context.print(toOutput(args.app, git, context.clock.now()), flags.output);
    context.say(`building the newest commit; check with: svc app history ${args.app} ${scope.flags}`);
  },
});

interface PollWait {
  scope: Scope;
  app: string;
  read: () => Promise<GitSourceView>;
  flags: WaitFlags;
}

/** Waits until the platform has read the repository of a source that was just stored. @throws Failure when it cannot */
function untilPolled(context: Context, { scope, app, read, flags }: PollWait): Promise<GitSourceView> {
  return waitFor(
    context,
    flags,
    async () => {
      const git = await read();
      if (git.polledAt === undefined) return { progress: 'reading the repository' };
      if (git.error === undefined) return { done: git };
      if (git.problem === 'unreachable') {
        throw new Failure(`The git source is stored, but the repository is unreachable: ${git.error}`, {
          code: 'git_source',
          hint: `the platform tries again every minute; check with: svc app git status ${app} ${scope.flags}`,
        });
      }
      throw new Failure(`The git source is stored, but cannot be built: ${git.error}`, {
        code: 'git_source',
        hint: `the app keeps its image until you fix this: svc app git set ${app} --url <url> ${scope.flags}`,
      });
    },
    `svc app git status ${app} ${scope.flags}`,
  );
}

const status = command({
  name: 'status',
  args: ['app'],
  description: 'Show the git source of an app, its last commit and its last error.',
  flags: scopeFlags,
  data: gitSourceView,
  watch: true,
  examples: ['svc app git status api', 'svc app git status api -o json'],
  async run({ context, args, flags }) {
    const scope = resolveScope(context, flags);
    const path = scope.path('apps', args.app, 'git');
    const git = await scope.api.call('GET', path, gitSourceView, { query: scope.query });
    context.print(toOutput(args.app, git, context.clock.now()), flags.output);
  },
});

const remove = command({
  name: 'remove',
  args: ['app'],
  description: 'Remove the git source of an app. The app keeps its current image.',
  flags: { ...noPromptFlag, ...scopeFlags },
  examples: ['svc app git remove api --project shop --environment prod'],
  async run({ context, args, flags }) {
    const scope = resolveScope(context, flags);
    await scope.api.send('DELETE', scope.path('apps', args.app, 'git'), { query: scope.query });
    const update = `svc app update ${args.app} --image <image> ${scope.flags}`;
    context.say(`the git source of ${args.app} is removed; deploy an image with: ${update}`);
  },
});

const sync = command({
  name: 'sync',
  args: ['app'],
  description: 'Check the repository for new commits now.',
  flags: scopeFlags,
  examples: ['svc app git sync api'],
  async run({ context, args, flags }) {
    const scope = resolveScope(context, flags);
    await scope.api.send('POST', scope.path('apps', args.app, 'git/sync'), { query: scope.query });
    context.say(`checking the repository of ${args.app}; check with: svc app git status ${args.app} ${scope.flags}`);
  },
});

const build = command({
  name: 'build',
  args: ['app'],
  description: 'Build and deploy a commit (default: the newest commit of the branch).',
  flags: { commit: text('<commit>', 'commit, 7 to 40 hexadecimal digits'), ...scopeFlags },
  examples: ['svc app git build api', 'svc app git build api --commit 3f2a9c1'],
  async run({ context, args, flags }) {
    const scope = resolveScope(context, flags);
    const accepted = await buildCommit(scope, args.app, flags.commit);
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

export const gitCommands: Commands = { commands: [set, status, sync, build, remove] };
