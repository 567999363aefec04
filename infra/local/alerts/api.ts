import { randomUUID } from 'node:crypto';
import type { LocalAlerts } from './alerts.ts';
import { silenceRequest, type Silences } from './silences.ts';

/** The paths below this one are those of Alertmanager. */
export const alertsPath = '/api/v2/';

/** The embedded cluster's answer to a request. */
interface Answer {
  status: number;
  body?: unknown;
}

/**
 * The part of Alertmanager's API that the platform uses, for the alerts of the embedded cluster.
 * https://raw.githubusercontent.com/prometheus/alertmanager/main/api/v2/openapi.yaml
 * @param options.maySilence whether the caller may change silences
 */
export function answerAlerts(
  { alerts, silences }: { alerts: Pick<LocalAlerts, 'firing'>; silences: Silences },
  { method, path, body, maySilence }: { method: string; path: string; body: string; maySilence: boolean },
): Answer {
  const operation = `${method} ${path.slice(alertsPath.length - 1)}`;
  if (operation === 'GET /alerts') {
    const list = alerts
      .firing()
      .map(({ startsAt, ...alert }) => ({
        ...alert,
        startsAt: new Date(startsAt * 1000).toISOString(),
        status: { state: silences.isSilenced(alert) ? 'suppressed' : 'active' },
      }));
    return { status: 200, body: list };
  }
  if (operation === 'GET /silences') {
    return { status: 200, body: silences.list().map((silence) => ({ ...silence, status: { state: 'active' } })) };
  }
  if (!maySilence) return { status: 403 };
  if (operation === 'POST /silences') {
    const parsed = silenceRequest.safeParse(JSON.parse(body));
    if (!parsed.success) return { status: 400 };
    const id = randomUUID();
    return silences.add({ id, ...parsed.data }) ? { status: 200, body: { silenceID: id } } : { status: 507 };
  }
  const [, id] = /^DELETE \/silence\/([0-9a-f-]{36})$/.exec(operation) ?? [];
  if (id === undefined) return { status: 404 };
  return { status: silences.remove(id) ? 200 : 404 };
}
