/**
 * Whether a live value has everything that a wanted one asks for: objects may have more fields (defaults, what others
 * wrote), lists must match element by element, and an empty list or object counts as absent, as the API server stores it.
 */
export function covers(live: unknown, wanted: unknown): boolean {
  if (wanted === undefined || wanted === null) return true;
  if (live === undefined || live === null) return isEmpty(wanted);
  if (Array.isArray(wanted)) {
    if (!Array.isArray(live) || live.length !== wanted.length) return false;
    return wanted.every((element, index) => covers(live[index], element));
  }
  if (typeof wanted === 'object') {
    if (typeof live !== 'object' || Array.isArray(live)) return false;
    const fields = live as Record<string, unknown>;
    return Object.entries(wanted).every(([key, value]) => covers(fields[key], value));
  }
  return live === wanted;
}

function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0;
}
