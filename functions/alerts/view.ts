import { alertsMax, type AlertView, type SilenceView } from '../../runtime/contracts/api/alerts.ts';
import type { Alert, Silence } from '../../runtime/services/alert-store.ts';

/** The label with the name of an alert. */
export const nameLabel = 'alertname';

function alertToView({ fingerprint, labels, annotations, startsAt, silenced }: Alert): AlertView {
  const { [nameLabel]: name = '', severity = 'warning', scope, ...rest } = labels;
  const { summary = name, description, ...details } = annotations;
  return {
    id: fingerprint,
    name,
    severity,
    // Alerts of other rules are the admin's own.
    scope: scope === 'workload' ? 'workload' : 'platform',
    state: silenced ? 'silenced' : 'firing',
    summary,
    ...(description !== undefined && { description }),
    labels: rest,
    details,
    startsAt: startsAt.toISOString(),
  };
}

/**
 * Alerts as the API lists them: those that fire, then the silenced ones; in both, those of the platform first, so that
 * those that users can cause never hide them.
 */
export function alertsToList(alerts: readonly Alert[]): { items: AlertView[]; truncated: boolean } {
  const rank = ({ state, scope, severity }: AlertView) =>
    (state === 'silenced' ? 4 : 0) + (scope === 'workload' ? 2 : 0) + (severity === 'critical' ? 0 : 1);
  const items = alerts
    .map(alertToView)
    .sort((a, b) => rank(a) - rank(b) || a.startsAt.localeCompare(b.startsAt) || a.id.localeCompare(b.id));
  return { items: items.slice(0, alertsMax), truncated: items.length > alertsMax };
}

export function silenceToView({ id, labels, createdBy, comment, endsAt }: Silence): SilenceView {
  const { [nameLabel]: alert = '', ...rest } = labels;
  return { id, alert, labels: rest, createdBy, comment, endsAt: endsAt.toISOString() };
}
