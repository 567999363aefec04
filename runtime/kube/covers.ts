/**
 * Whether a live value includes everything in a desired one. Live objects may have more fields (defaults, fields of others),
 * lists must match element by element, and an empty list or object counts as absent, because the API server drops it.
 */
export function includesDesired(live: unknown, desired: unknown): boolean {
  if (desired === undefined || desired === null) return true;
  if (live === undefined || live === null) return isEmpty(desired);
  if (Array.isArray(desired)) {
    if (!Array.isArray(live) || live.length !== desired.length) return false;
    return desired.every((element, index) => includesDesired(live[index], element));
  }
  if (typeof desired === 'object') {
    if (typeof live !== 'object' || Array.isArray(live)) return false;
    const fields = live as Record<string, unknown>;
    return Object.entries(desired).every(([key, value]) => includesDesired(fields[key], value));
  }
  return live === desired;
}

function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0;
}
