/** The ranges of the list, in seconds. */
export const ranges = { '1h': 3_600, '24h': 86_400, '7d': 604_800, '30d': 2_592_000 };

export type RangeName = keyof typeof ranges;

const textNames = ['action', 'actor', 'object', 'project', 'environment'] as const;

/** What the address of an audit log says. Absent: no limit. */
export type AuditSearch = {
  /** The range that ends at `until`. */
  since?: RangeName | undefined;
  /** A time as the API has it; absent: now. */
  until?: string | undefined;
} & { [Name in (typeof textNames)[number]]?: string | undefined };

/** A time as the API has it, or as a field of the browser has it, in the zone of the user. */
const timeForm = /^20\d\d-[01]\d-[0-3]\dT[0-2]\d:[0-5]\d(:[0-6]\d(\.\d{1,9})?)?Z?$/;

/** Reads the parameters of an address, or the fields of the filters, and leaves out what is not valid. Pure. */
export function auditSearch(values: Readonly<Record<string, unknown>>): AuditSearch {
  const texts = textNames.flatMap((name) => {
    const value = values[name];
    return typeof value === 'string' && value.trim() !== '' ? [[name, value.trim()]] : [];
  });
  const { since, until } = values;
  const isRange = typeof since === 'string' && Object.hasOwn(ranges, since);
  const isTime = typeof until === 'string' && timeForm.test(until) && !Number.isNaN(Date.parse(until));
  return {
    ...(Object.fromEntries(texts) as AuditSearch),
    ...(isRange && { since: since as RangeName }),
    ...(isTime && { until: new Date(until).toISOString() }),
  };
}

/** The times of a request. Pure. */
export function timesOf({ since, until }: AuditSearch, now: number): { since?: string; until?: string } {
  const end = until === undefined ? now : Date.parse(until);
  return {
    ...(since !== undefined && { since: new Date(end - ranges[since] * 1000).toISOString() }),
    ...(until !== undefined && { until }),
  };
}

/** A time in the zone of the user, as a field of the browser has it: `2026-11-26T09:30`. */
export function localTime(time: string): string {
  const date = new Date(time);
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

const minuteMs = 60_000;
/** As the API. */
const limits = { fallback: 50, max: 500 };

interface Shown {
  now: number;
  /** How many entries the page shows. */
  count: number;
}

/** The flags of `svc audit` that show the same: it takes ages, in whole minutes, where the address has a time. Pure. */
export function auditFlags(project: string | undefined, search: AuditSearch, { now, count }: Shown): string[] {
  const { action, actor, object, environment, since, until } = search;
  const minutes = until === undefined ? 0 : Math.max(0, Math.floor((now - Date.parse(until)) / minuteMs));
  const age = since === undefined ? undefined : `${minutes + ranges[since] / 60}m`;
  const names = {
    action,
    actor,
    object,
    environment,
    since: minutes === 0 ? since : age,
    until: minutes === 0 ? undefined : `${minutes}m`,
    limit: count > limits.fallback ? String(Math.min(count, limits.max)) : undefined,
  };
  const place = project === undefined ? ['--platform'] : ['--project', project];
  const only = project === undefined && search.project !== undefined ? ['--project', search.project] : [];
  return [
    ...place,
    ...only,
    ...Object.entries(names).flatMap(([name, value]) => (value === undefined ? [] : [`--${name}`, value])),
  ];
}
