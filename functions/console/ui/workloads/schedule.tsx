import { Facts } from '../parts/facts.tsx';
import { workloadText } from '../text/workloads.ts';

const words = workloadText.schedule;

/** A time in a time zone; in UTC where the browser does not know the zone. */
function Moment({ at, timeZone }: { at: string; timeZone: string }) {
  const format = (zone: string) =>
    new Date(at).toLocaleString('en', { dateStyle: 'medium', timeStyle: 'long', timeZone: zone });
  let label: string;
  try {
    label = format(timeZone);
  } catch {
    label = format('UTC');
  }
  return <time dateTime={at}>{label}</time>;
}

/** Times of a schedule, in its time zone. */
export function Times({ times, timeZone }: { times: readonly string[]; timeZone: string }) {
  return (
    <ol>
      {times.map((at) => (
        <li key={at}>
          <Moment at={at} timeZone={timeZone} />
        </li>
      ))}
    </ol>
  );
}

interface ScheduleProps {
  schedule: string;
  description: string | undefined;
  timeZone: string;
  overlap: keyof typeof words.overlaps;
  next: readonly string[];
}

/** When a workload runs: the expression, what it means, and the next times. */
export function Schedule({ schedule, description, timeZone, overlap, next }: ScheduleProps) {
  return (
    <section aria-labelledby="schedule" className="flex flex-col gap-3">
      <h2 id="schedule" className="text-lg font-semibold">
        {words.title}
      </h2>
      <Facts
        facts={[
          [words.description, description],
          [words.expression, <code key="expression">{schedule}</code>],
          [words.zone, timeZone],
          [words.overlap, words.overlaps[overlap]],
          [words.next, next.length > 0 && <Times key="next" times={next} timeZone={timeZone} />],
        ]}
      />
    </section>
  );
}
