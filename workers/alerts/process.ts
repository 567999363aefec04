import type { Pool } from 'pg';
import type { Attempt, Processor } from '../../runtime/bus/runner.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import { recordAlerts, type ListedAlert } from '../../runtime/records/alert-episodes.ts';
import type { Alert, AlertStore } from '../../runtime/services/alert-store.ts';

const everyMs = 30_000;
/** Maximum alerts that are followed; those of the platform come first. */
const alertsMax = 500;
/** Maximum length of a text in a notification. */
const textMax = 2_000;

/**
 * Reads the alerts that fire every 30 s and sends the changes to the platform's notification targets. While the alerts
 * cannot be read, nothing changes.
 */
export function createAlertsProcessor(dependencies: { pool: Pool; alerts: AlertStore; clock: Clock }): Processor {
  const { pool, alerts, clock } = dependencies;
  return async ({ signal, log }: Attempt) => {
    const again = { again: new Date(clock.now().getTime() + everyMs) };
    let fired: Alert[];
    try {
      fired = await alerts.list(signal);
    } catch (error) {
      // Installations without monitoring have no alerts, which is no failure.
      log.debug({ err: error }, 'alerts cannot be read');
      return again;
    }
    const rank = ({ labels }: Alert) => (labels['scope'] === 'workload' ? 1 : 0);
    const followed = fired.toSorted((a, b) => rank(a) - rank(b)).slice(0, alertsMax);
    const changes = await recordAlerts(pool, followed.map(toListed));
    if (changes.begun + changes.ended > 0) log.info(changes, 'alerts changed');
    return again;
  };
}

function toListed({ fingerprint, labels, annotations, startsAt, silenced }: Alert): ListedAlert {
  const { alertname: name = '', severity = 'warning', scope = 'platform', ...rest } = labels;
  const short = (texts: Readonly<Record<string, string>>) =>
    Object.fromEntries(
      Object.entries(texts).map(([key, text]) => [key, text.replaceAll('\0', '').slice(0, textMax).toWellFormed()]),
    );
  const content = { name, severity, scope, labels: short(rest), annotations: short(annotations) };
  return { fingerprint, startsAt, silenced, content };
}
