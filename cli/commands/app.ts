import { z } from 'zod';
import { appView, deploymentAccepted, type AppView } from '../../runtime/contracts/api/apps.ts';
import { hasEnded } from '../../runtime/domain/deployment.ts';
import { command, type Group } from '../command.ts';
import { scopeFlags, yesFlag } from '../common-flags.ts';
import type { Context } from '../context.ts';
import { Failure, usageFailure } from '../failure.ts';
import { amount, requiredText, text } from '../flags.ts';
import { ago, fields, table, type Shown } from '../output.ts';
import { placeOf, type Place } from '../place.ts';
import { confirm } from '../prompt.ts';
import { waitFlags, waitFor, waitForRemoval, type WaitFlags } from '../wait.ts';
import { gateGroup } from './app-gate.ts';
import { webhookGroup } from './app-webhook.ts';
import {
  checkSucceeded,
  followDeployment,
  historyCommand,
  newestDeployments,
  rollbackCommand,
  shownDeployment,
} from './deployment.ts';

const replicas = amount('<n>', 'number of pods (default 1)', { min: 0, max: 50 });

function shown(app: AppView): Shown {
  return {
    data: app,
    table: fields([
      ['App', app.name],
      ['Project', app.project],
      ['Environment', app.environment],
      ['Status', app.status],
      ['Message', app.message],
      ['URL', app.url],
      ['Image', app.image],
      ['Ready', `${app.readyReplicas} of ${app.replicas}`],
      ['Gate', app.gate],
    ]),
    names: [app.name],
  };
}

const readApp = (place: Place, name: string) =>
  place.api.call('GET', place.path('apps', name), appView, { query: place.query });

/** Waits until a new app's first deployment has ended and the app runs. */
function untilRunning(context: Context, flags: WaitFlags, place: Place, name: string): Promise<AppView> {
  return waitFor(
    context,
    flags,
    async () => {
      const app = await readApp(place, name);
      if (app.status === 'failed') {
        throw new Failure(`App "${name}" failed: ${app.message ?? 'see its history'}`, {
          code: 'failed',
          hint: `svc app show ${name} ${place.flags}`,
        });
      }
      const newest = (await newestDeployments(place, name, 1))[0];
      if (newest && hasEnded(newest.status)) {
        checkSucceeded(newest);
        if (app.status === 'running') return { done: app };
      }
      return { progress: `${name}: ${app.status} (${app.readyReplicas} of ${app.replicas} ready)` };
    },
    `it goes on: svc app show ${name} ${place.flags}`,
  );
}

const create = command({
  name: 'create',
  args: ['app'],
  description: 'Create an app from an image, at a public host of its own.',
  flags: {
    image: requiredText('<image>', 'image with registry, name and tag'),
    port: amount('<port>', 'port on which the container listens (default 8080)', { min: 1, max: 65_535 }),
    replicas,
    hostname: text('<host>', 'public host (default <app>--<project>-<environment>.<apps domain>)'),
    healthPath: text('<path>', 'path that answers 2xx once the container can serve (default: its port accepts)'),
    ...waitFlags,
    ...scopeFlags,
  },
  examples: [
    'svc app create api --image registry.example.com/shop/api:1.4.2 --port 8080',
    'svc app create web --image registry.example.com/shop/web:7 --replicas 2 --health-path /ready',
  ],
  async run({ context, args, flags }) {
    const place = placeOf(context, flags);
    const { image, port, hostname, healthPath } = flags;
    const body = {
      name: args.app,
      image,
      ...(port !== undefined && { port }),
      ...(flags.replicas !== undefined && { replicas: flags.replicas }),
      ...(hostname !== undefined && { hostname }),
      ...(healthPath !== undefined && { healthPath }),
    };
    const created = await place.api.call('POST', place.path('apps'), appView, { query: place.query, body });
    context.print(shown(flags.wait ? await untilRunning(context, flags, place, args.app) : created), flags.output);
  },
});

const list = command({
  name: 'list',
  description: 'List the apps of an environment.',
  flags: scopeFlags,
  examples: ['svc app list', 'svc app list --project shop --environment prod -o name'],
  async run({ context, flags }) {
    const place = placeOf(context, flags);
    const items = await place.api.list(place.path('apps'), appView, place.query);
    const now = context.clock.now();
    context.print(
      {
        data: items,
        table: table(items, [
          { title: 'APP', value: ({ name }) => name },
          { title: 'STATUS', value: ({ status }) => status },
          { title: 'READY', value: ({ readyReplicas, replicas: wanted }) => `${readyReplicas}/${wanted}` },
          { title: 'GATE', value: ({ gate }) => gate },
          { title: 'IMAGE', value: ({ image }) => image },
          { title: 'URL', value: ({ url }) => url },
          { title: 'CREATED', value: ({ createdAt }) => ago(createdAt, now) },
        ]),
        names: items.map(({ name }) => name),
      },
      flags.output,
    );
  },
});

const show = command({
  name: 'show',
  args: ['app'],
  description: 'Show an app.',
  flags: scopeFlags,
  examples: ['svc app show api', 'svc app show api -o json'],
  async run({ context, args, flags }) {
    context.print(shown(await readApp(placeOf(context, flags), args.app)), flags.output);
  },
});

const update = command({
  name: 'update',
  args: ['app'],
  description: 'Deploy an image, or change the number of pods.',
  flags: {
    image: text('<image>', 'image with registry, name and tag; makes a new revision'),
    commit: text('<sha>', 'commit of the image, shown in the history'),
    replicas: amount('<n>', 'number of pods', { min: 0, max: 50 }),
    ...waitFlags,
    ...scopeFlags,
  },
  examples: [
    'svc app update api --image registry.example.com/shop/api:1.4.3 --commit 4c0ffee',
    'svc app update api --replicas 3',
  ],
  async run({ context, args, flags }) {
    const { image, commit } = flags;
    if (image === undefined && flags.replicas === undefined) throw usageFailure('Give --image or --replicas.');
    if (image === undefined && commit !== undefined) throw usageFailure('--commit goes with --image.');
    const place = placeOf(context, flags);
    const body = {
      ...(image !== undefined && { image }),
      ...(commit !== undefined && { commit }),
      ...(flags.replicas !== undefined && { replicas: flags.replicas }),
    };
    const answer = z.union([deploymentAccepted, appView]);
    const result = await place.api.call('PATCH', place.path('apps', args.app), answer, { query: place.query, body });
    if ('statusUrl' in result) {
      if (flags.wait) {
        context.print(
          shownDeployment(await followDeployment(context, flags, place, args.app, result.id)),
          flags.output,
        );
      } else {
        const said = `revision ${result.revision} of ${args.app} is accepted`;
        context.print({ data: result, table: said, names: [result.id] }, flags.output);
      }
      return;
    }
    const wanted = flags.replicas ?? result.replicas;
    const app = flags.wait ? await untilScaled(context, flags, place, args.app, wanted) : result;
    context.print(shown(app), flags.output);
  },
});

function untilScaled(context: Context, flags: WaitFlags, place: Place, name: string, wanted: number): Promise<AppView> {
  return waitFor(
    context,
    flags,
    async () => {
      const app = await readApp(place, name);
      if (app.status === 'failed') {
        throw new Failure(`App "${name}" failed: ${app.message ?? 'see its history'}`, { code: 'failed' });
      }
      if (app.replicas === wanted && app.readyReplicas === wanted) return { done: app };
      return { progress: `${name}: ${app.readyReplicas} of ${wanted} ready` };
    },
    `it goes on: svc app show ${name} ${place.flags}`,
  );
}

const remove = command({
  name: 'delete',
  args: ['app'],
  description: 'Delete an app and everything that was made for it.',
  flags: { ...yesFlag, ...waitFlags, ...scopeFlags },
  examples: ['svc app delete api', 'svc app delete api --yes'],
  async run({ context, args, flags }) {
    const place = placeOf(context, flags);
    const app = await readApp(place, args.app);
    await confirm(context, flags, `Delete app ${app.name} of ${app.project}/${app.environment}?`);
    await place.api.send('DELETE', place.path('apps', args.app), { query: place.query });
    if (flags.wait) await waitForRemoval(context, flags, `app ${app.name}`, () => readApp(place, args.app));
    context.say(`app ${app.name} ${flags.wait ? 'is deleted' : 'is being deleted'}`);
  },
});

export const appGroup: Group = {
  name: 'app',
  description: 'Apps: container images at public hosts.',
  commands: [create, list, show, update, remove, historyCommand, rollbackCommand],
  groups: [gateGroup, webhookGroup],
};
