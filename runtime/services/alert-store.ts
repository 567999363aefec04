import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { Problem } from '../domain/problem.ts';
import { readBytes } from '../domain/read-bytes.ts';

/** An alert that fires. */
export interface Alert {
  fingerprint: string;
  labels: Readonly<Record<string, string>>;
  annotations: Readonly<Record<string, string>>;
  startsAt: Date;
  silenced: boolean;
}

/** A silence that has not ended. */
export interface Silence {
  id: string;
  /** The labels that an alert must have, its name (`alertname`) included. */
  labels: Readonly<Record<string, string>>;
  createdBy: string;
  comment: string;
  endsAt: Date;
}

/** Where alerts are listed and silenced. Every call rejects with a Problem `alerts_unavailable` when it cannot be done. */
export interface AlertStore {
  list(signal?: AbortSignal): Promise<Alert[]>;
  silences(signal?: AbortSignal): Promise<Silence[]>;
  /** @returns the id of the silence */
  silence(silence: Omit<Silence, 'id'>, startsAt: Date, signal?: AbortSignal): Promise<string>;
  /** @returns false when there is no such silence */
  unsilence(id: string, signal?: AbortSignal): Promise<boolean>;
}

/** The addresses of the servers, without a trailing slash. */
export interface AlertServers {
  alertmanager?: string | undefined;
  /** The file with the token that {@link alertmanager} takes, which is then the embedded cluster; absent: it takes none. */
  tokenFile?: string | undefined;
  /** Prometheus, which is asked for alerts when there is no Alertmanager or it does not answer. */
  metricsStore?: string | undefined;
}

const timeoutMs = 5_000;
/** More than a thousand alerts, whose texts are short. */
const answerBytesMax = 4 * 1024 * 1024;

const texts = z.record(z.string(), z.string());
const time = z.string().transform((text, context) => {
  const date = new Date(text);
  if (!Number.isNaN(date.getTime())) return date;
  context.issues.push({ code: 'custom', message: 'is no time', input: text });
  return z.NEVER;
});
/** https://raw.githubusercontent.com/prometheus/alertmanager/main/api/v2/openapi.yaml */
const alertmanagerAlerts = z.array(
  z.object({
    fingerprint: z.string(),
    labels: texts,
    annotations: texts,
    startsAt: time,
    status: z.object({ state: z.string() }),
  }),
);
const alertmanagerSilences = z.array(
  z.object({
    id: z.string(),
    status: z.object({ state: z.string() }),
    matchers: z.array(z.object({ name: z.string(), value: z.string(), isRegex: z.boolean() })),
    createdBy: z.string(),
    comment: z.string(),
    endsAt: time,
  }),
);
/** https://prometheus.io/docs/prometheus/latest/querying/api/#alerts */
const prometheusAlerts = z.object({
  data: z.object({
    alerts: z.array(z.object({ labels: texts, annotations: texts, state: z.string(), activeAt: time })),
  }),
});

/** Alerts of Alertmanager or the embedded cluster, which answers as Alertmanager does, or of Prometheus alone, which cannot silence them. */
export function createAlertStore({ alertmanager, metricsStore, tokenFile }: AlertServers): AlertStore {
  const ask = async <T>(
    url: string,
    schema: z.ZodType<T>,
    { signal, ...init }: { method?: string; body?: string; signal?: AbortSignal | undefined } = {},
  ): Promise<T> => {
    const limit = AbortSignal.timeout(timeoutMs);
    const token = tokenFile === undefined ? undefined : (await readFile(tokenFile, 'utf8')).trim();
    const authorization = token !== undefined && { authorization: `Bearer ${token}` };
    const response = await fetch(url, {
      ...init,
      headers: { 'content-type': 'application/json', ...authorization },
      // The platform's own server never redirects.
      redirect: 'error',
      signal: signal ? AbortSignal.any([signal, limit]) : limit,
    });
    const bytes = await readBytes(response.body, answerBytesMax, () => new Error('its answer is too large'));
    if (!response.ok) throw new Error(`it answered ${response.status}`);
    const text = bytes.toString();
    return schema.parse(text === '' ? undefined : JSON.parse(text));
  };

  const fromAlertmanager = async <T>(call: (base: string) => Promise<T>): Promise<T> => {
    if (alertmanager === undefined) throw unavailable(metricsStore === undefined ? 'none' : 'no-alertmanager');
    try {
      return await call(`${alertmanager}/api/v2`);
    } catch (error) {
      throw unavailable(tokenFile !== undefined ? 'embedded' : 'Alertmanager', error);
    }
  };

  const listFromPrometheus = async (base: string, signal?: AbortSignal): Promise<Alert[]> => {
    try {
      const { data } = await ask(`${base}/api/v1/alerts`, prometheusAlerts, { signal });
      return data.alerts
        .filter(({ state }) => state === 'firing')
        .map(({ labels, annotations, activeAt }) => ({
          fingerprint: digestOf(labels),
          labels,
          annotations,
          startsAt: activeAt,
          silenced: false,
        }));
    } catch (error) {
      throw unavailable('Prometheus', error);
    }
  };

  const listFromAlertmanager = (signal?: AbortSignal) =>
    fromAlertmanager(async (base) => {
      const alerts = await ask(`${base}/alerts`, alertmanagerAlerts, { signal });
      return alerts.map(({ status, ...alert }) => ({ ...alert, silenced: status.state === 'suppressed' }));
    });

  const silences = (signal?: AbortSignal): Promise<Silence[]> =>
    fromAlertmanager(async (base) => {
      const silences = await ask(`${base}/silences`, alertmanagerSilences, { signal });
      return silences
        .filter(({ status }) => status.state !== 'expired')
        .map(({ id, matchers, createdBy, comment, endsAt }) => ({
          id,
          labels: Object.fromEntries(matchers.map(({ name, value }) => [name, value])),
          createdBy,
          comment,
          endsAt,
        }));
    });

  return {
    async list(signal) {
      if (metricsStore === undefined) return listFromAlertmanager(signal);
      if (alertmanager === undefined) return listFromPrometheus(metricsStore, signal);
      try {
        return await listFromAlertmanager(signal);
      } catch (error) {
        return listFromPrometheus(metricsStore, signal).catch(() => Promise.reject(error as Error));
      }
    },
    silences,
    silence: ({ labels, createdBy, comment, endsAt }, startsAt, signal) =>
      fromAlertmanager(async (base) => {
        const matchers = Object.entries(labels).map(([name, value]) => ({
          name,
          value,
          isRegex: false,
          isEqual: true,
        }));
        const body = JSON.stringify({ matchers, startsAt, endsAt, createdBy, comment });
        const schema = z.object({ silenceID: z.string() });
        return (await ask(`${base}/silences`, schema, { method: 'POST', body, signal })).silenceID;
      }),
    async unsilence(id, signal) {
      // Alertmanager answers 500 to the id of a silence that does not exist.
      if (!(await silences(signal)).some((silence) => silence.id === id)) return false;
      await fromAlertmanager((base) => ask(`${base}/silence/${id}`, z.unknown(), { method: 'DELETE', signal }));
      return true;
    },
  };
}

/** The identity of an alert of Prometheus, whose API has none. */
function digestOf(labels: Readonly<Record<string, string>>): string {
  const sorted = Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1));
  return createHash('sha256').update(JSON.stringify(sorted)).digest('hex').slice(0, 16);
}

function unavailable(
  what: 'none' | 'no-alertmanager' | 'embedded' | 'Alertmanager' | 'Prometheus',
  cause?: unknown,
): Problem {
  if (what === 'none') {
    return new Problem(
      'alerts_unavailable',
      'This installation has no Prometheus and no Alertmanager, so there are no alerts. In a cluster, enable monitoring (docs/how-to/alerts.md).',
    );
  }
  if (what === 'no-alertmanager') {
    return new Problem(
      'alerts_unavailable',
      'This installation has no Alertmanager, so alerts cannot be silenced. In a cluster, enable it (docs/how-to/alerts.md).',
    );
  }
  if (what === 'embedded') {
    const message = 'The alerts cannot be read. They need the metrics store: svc platform enable metrics-store';
    return new Problem('alerts_unavailable', message, { cause });
  }
  return new Problem(
    'alerts_unavailable',
    `${what} does not answer. Check that monitoring is enabled and runs (docs/how-to/alerts.md).`,
    { cause },
  );
}
