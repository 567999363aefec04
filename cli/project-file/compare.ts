import { isDeepStrictEqual } from 'node:util';

/** Settings of one object, as the project file has them. */
export type Settings = Readonly<Record<string, unknown>>;

/** How one setting is compared and changed. */
interface SettingRule {
  /** What the object has without the setting; default: nothing. */
  default?: unknown;
  /**
   * `value` (default): compared and sent as a whole. `map`: each entry on its own, and all are sent; entries that no file
   * has set stay. `fields`: only the fields that the file names. `set`: a list whose order does not matter.
   */
  form?: 'value' | 'map' | 'fields' | 'set';
  /** The form in which equal values are equal texts, such as `1Gi` for `1024Mi`. */
  canonical?: (text: string) => string;
  /** Can only be set when the object is created. */
  fixed?: true;
  /** Stays when it leaves the file: it has no default. */
  kept?: true;
}

export type SettingRules = Readonly<Record<string, SettingRule>>;

/** One difference between the file and the object. */
export interface SettingChange {
  /** The setting, with the entry of a map: `env.LOG_LEVEL`. */
  setting: string;
  /** Absent: the object does not have it. */
  before?: unknown;
  /** Absent: the setting is reset or the entry is removed. */
  after?: unknown;
  /** The object must be created anew for it. */
  fixed?: true;
}

export interface Comparison {
  changes: SettingChange[];
  /** The new value of every setting that changes; null resets one without a default. */
  body: Record<string, unknown>;
}

/**
 * Compares three states of an object: the file, what was last applied from it, and the live object. A setting that has
 * left the file since is reset; a setting that the file never had keeps its value. Pure.
 */
export function compareSettings(
  rules: SettingRules,
  { desired, applied = {}, live }: { desired: Settings; applied?: Settings | undefined; live: Settings },
): Comparison {
  const changes: SettingChange[] = [];
  const body: Record<string, unknown> = {};
  for (const [setting, rule] of Object.entries(rules)) {
    const states = { desired: desired[setting], applied: applied[setting], live: live[setting] };
    const result =
      rule.form === 'map' || rule.form === 'fields' ? compareEntries(rule, states) : compareValue(rule, states);
    for (const { key, ...change } of result.changes) {
      changes.push({
        setting: key === undefined ? setting : `${setting}.${key}`,
        ...change,
        ...(rule.fixed && { fixed: true }),
      });
    }
    if (result.changes.length > 0) body[setting] = result.value;
  }
  return { changes, body };
}

interface States {
  desired: unknown;
  applied: unknown;
  live: unknown;
}

interface Result {
  changes: { key?: string; before?: unknown; after?: unknown }[];
  value?: unknown;
}

function compareValue(rule: SettingRule, { desired, applied, live = rule.default }: States): Result {
  const before = live === undefined ? {} : { before: live };
  if (desired !== undefined) {
    if (equal(rule, desired, live)) return { changes: [] };
    return { changes: [{ ...before, after: desired }], value: desired };
  }
  const reset = applied !== undefined && !rule.kept && !rule.fixed && !equal(rule, live, rule.default);
  return reset ? { changes: [before], value: rule.default ?? null } : { changes: [] };
}

/** Compares entry by entry. The value of a map is all its entries after the change; of fields, those that the file has. */
function compareEntries(rule: SettingRule, states: States): Result {
  const [desired, applied, live] = [entries(states.desired), entries(states.applied), entries(states.live)];
  const changes: Result['changes'] = [];
  for (const [key, after] of desired) {
    const before = live.get(key);
    const same = isRecord(after) ? contains(before, after) : equal(rule, after, before);
    if (!same) changes.push({ key, ...(before !== undefined && { before }), after });
  }
  for (const key of applied.keys()) {
    const before = live.get(key);
    if (!desired.has(key) && before !== undefined) changes.push({ key, before });
  }
  const removed = changes.filter(({ after }) => after === undefined).map(({ key = '' }) => key);
  if (rule.form === 'fields') {
    return { changes, value: Object.fromEntries([...desired, ...removed.map((key) => [key, null])]) };
  }
  const all = new Map([...live, ...desired]);
  for (const key of removed) all.delete(key);
  return { changes, value: Object.fromEntries(all) };
}

function entries(value: unknown): Map<string, unknown> {
  return new Map(isRecord(value) ? Object.entries(value) : []);
}

/** Whether an object has all fields of another with their values. */
function contains(value: unknown, fields: Settings): boolean {
  return isRecord(value) && Object.entries(fields).every(([key, field]) => isDeepStrictEqual(value[key], field));
}

function equal({ form, canonical }: SettingRule, a: unknown, b: unknown): boolean {
  if (form === 'set' && Array.isArray(a) && Array.isArray(b)) {
    return isDeepStrictEqual(
      new Set(a.map((item) => JSON.stringify(item))),
      new Set(b.map((item) => JSON.stringify(item))),
    );
  }
  if (canonical && typeof a === 'string' && typeof b === 'string') return canonical(a) === canonical(b);
  return isDeepStrictEqual(a, b);
}

/** Whether a value is an object with fields, and no list. */
export function isRecord(value: unknown): value is Settings {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
