import type { Clock } from '../../runtime/domain/clock.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { route, type Route } from '../../runtime/http/route.ts';
import type { AlertStore } from '../../runtime/services/alert-store.ts';
import { createSilenceSchema, deleteSilenceSchema, listAlertsSchema, listSilencesSchema } from './schema.ts';
import { alertsToList, nameLabel, silenceToView } from './view.ts';

export interface AlertDependencies {
  alerts: AlertStore;
  clock: Clock;
}

const tag = 'platform';
const collection = '/platform/alerts';

/** `/platform/alerts`: the alerts that fire, and silences. */
export function createAlertRoutes({ alerts, clock }: AlertDependencies): Route[] {
  return [
    route({
      ...listAlertsSchema,
      method: 'GET',
      path: collection,
      access: 'platform-admin',
      tag,
      summary: 'Lists the firing alerts, those about the platform first.',
      async handle({ signal }) {
        return { status: 200, body: alertsToList(await alerts.list(signal)) };
      },
    }),
    route({
      ...listSilencesSchema,
      method: 'GET',
      path: `${collection}/silences`,
      access: 'platform-admin',
      tag,
      summary: 'Lists the silences that have not ended.',
      async handle({ signal }) {
        return { status: 200, body: { items: (await alerts.silences(signal)).map(silenceToView) } };
      },
    }),
    route({
      ...createSilenceSchema,
      method: 'POST',
      path: `${collection}/silences`,
      access: 'platform-admin',
      tag,
      summary: 'Silences an alert for a time: it is still listed, but not sent to notification targets.',
      audit: 'platform.alerts.silence',
      async handle({ body, session, signal }) {
        const { alert, labels = {}, durationSeconds, comment } = body;
        const now = clock.now();
        const silence = {
          labels: { ...labels, [nameLabel]: alert },
          createdBy: session?.email ?? '',
          comment,
          endsAt: new Date(now.getTime() + durationSeconds * 1000),
        };
        const view = silenceToView({ id: await alerts.silence(silence, now, signal), ...silence });
        const { id, endsAt } = view;
        return { status: 201, body: view, audit: { silence: { id, alert, labels, endsAt } } };
      },
    }),
    route({
      ...deleteSilenceSchema,
      method: 'DELETE',
      path: `${collection}/silences/:silence`,
      access: 'platform-admin',
      tag,
      summary: 'Ends a silence.',
      audit: 'platform.alerts.unsilence',
      async handle({ params, signal }) {
        if (!(await alerts.unsilence(params.silence, signal))) {
          throw new Problem('not_found', 'There is no silence with this ID. List them: svc platform alerts silences');
        }
        return { status: 204, audit: { silence: { id: params.silence } } };
      },
    }),
  ];
}
