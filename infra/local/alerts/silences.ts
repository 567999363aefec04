import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { z } from 'zod';
import type { FiringAlert } from './alerts.ts';

const time = z.iso.datetime();
const text = z.string().max(1_000);

/** What Alertmanager takes for a silence; only labels with one exact value are supported. */
export const silenceRequest = z.object({
  matchers: z
    .array(z.object({ name: text, value: text, isRegex: z.literal(false), isEqual: z.literal(true) }))
    .min(1)
    .max(20),
  startsAt: time,
  endsAt: time,
  createdBy: text,
  comment: text,
});

const stored = z.array(silenceRequest.extend({ id: z.uuid() }));

type Silence = z.infer<typeof stored>[number];

/** Maximum number of silences that have not ended. */
const silencesMax = 1_000;

/** The silences of the embedded cluster, in a file, because they outlive restarts. */
export interface Silences {
  /** Those that have not ended. */
  list(): Silence[];
  /** @returns whether there was room */
  add(silence: Silence): boolean;
  /** @returns whether there was such a silence */
  remove(id: string): boolean;
  isSilenced(alert: Pick<FiringAlert, 'labels'>): boolean;
}

export function openSilences(file: string, now: () => Date): Silences {
  let silences = read(file);
  const current = () => silences.filter(({ endsAt }) => Date.parse(endsAt) > now().getTime());
  const write = (next: Silence[]) => {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(`${file}.new`, JSON.stringify(next), { mode: 0o600 });
    renameSync(`${file}.new`, file);
    silences = next;
  };
  return {
    list: current,
    add(silence) {
      if (current().length >= silencesMax) return false;
      write([...current(), silence]);
      return true;
    },
    remove(id) {
      const remaining = current().filter((silence) => silence.id !== id);
      if (remaining.length === current().length) return false;
      write(remaining);
      return true;
    },
    isSilenced: ({ labels }) =>
      current().some(({ matchers }) => matchers.every(({ name, value }) => (labels[name] ?? '') === value)),
  };
}

/** The silences in the file; none when it does not exist or is not valid. */
function read(file: string): Silence[] {
  try {
    return stored.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch {
    return [];
  }
}
