const tones = {
  good: 'bg-emerald-100 text-emerald-900 dark:bg-emerald-950 dark:text-emerald-200',
  busy: 'bg-sky-100 text-sky-900 dark:bg-sky-950 dark:text-sky-200',
  warn: 'bg-amber-100 text-amber-900 dark:bg-amber-950 dark:text-amber-200',
  bad: 'bg-red-100 text-red-900 dark:bg-red-950 dark:text-red-200',
  quiet: 'bg-zinc-100 text-zinc-800 dark:bg-zinc-800 dark:text-zinc-200',
};

type Tone = keyof typeof tones;

const states: Readonly<Record<string, Tone>> = {
  running: 'good',
  ready: 'good',
  succeeded: 'good',
  scheduled: 'good',
  idle: 'good',
  on: 'good',
  pending: 'busy',
  creating: 'busy',
  deploying: 'busy',
  accepted: 'busy',
  building: 'busy',
  rolling_out: 'busy',
  updating: 'busy',
  resizing: 'busy',
  starting: 'busy',
  waiting: 'quiet',
  ending: 'quiet',
  failing: 'bad',
  deleting: 'warn',
  suspended: 'warn',
  failed: 'bad',
};

/** A short label. */
export function Badge({ tone = 'quiet', children }: { tone?: Tone; children: React.ReactNode }) {
  return (
    <span className={`inline-block rounded-full px-2 py-0.5 text-xs font-medium whitespace-nowrap ${tones[tone]}`}>
      {children}
    </span>
  );
}

/** The state of an object, in the words of the API; its colour only repeats what the word says. */
export function State({ state, label = state }: { state: string; label?: string }) {
  return <Badge tone={states[state] ?? 'quiet'}>{label}</Badge>;
}
