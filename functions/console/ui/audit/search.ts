/** The ranges of the list, in seconds. */
export const ranges = { '1h': 3_600, '24h': 86_400, '7d': 604_800, '30d': 2_592_000 };

export type RangeName = keyof typeof ranges;

const textNames = ['action', 'actor', 'object', 'project', 'environment', 'before'] as const;

/** What the address of an audit log says. Absent: no limit. */
export type AuditSearch = { since?: RangeName | undefined } & {
  [Name in (typeof textNames)[number]]?: string | undefined;
};

/** Reads the parameters of an address, or the fields of the filters, and leaves out what is not valid. Pure. */
export function auditSearch(values: Readonly<Record<string, unknown>>): AuditSearch {
  const texts = textNames.flatMap((name) => {
    const value = values[name];
    return typeof value === 'string' && value.trim() !== '' ? [[name, value.trim()]] : [];
  });
  const { since } = values;
  const isRange = typeof since === 'string' && Object.hasOwn(ranges, since);
  return { ...(Object.fromEntries(texts) as AuditSearch), ...(isRange && { since: since as RangeName }) };
}

/** The flags of `svc audit` that show the same. Pure. */
export function auditFlags(project: string | undefined, search: AuditSearch): string[] {
  const { action, actor, object, environment, since } = search;
  const names = { action, actor, object, environment, since };
  const place = project === undefined ? ['--platform'] : ['--project', project];
  const only = project === undefined && search.project !== undefined ? ['--project', search.project] : [];
  return [
    ...place,
    ...only,
    ...Object.entries(names).flatMap(([name, value]) => (value === undefined ? [] : [`--${name}`, value])),
  ];
}
