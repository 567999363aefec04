/** One fact of an object; one without a value is left out. */
export type Fact = readonly [title: string, value: React.ReactNode];

/** The facts of an object, in the order of interest. */
export function Facts({ facts }: { facts: readonly Fact[] }) {
  return (
    <dl className="grid grid-cols-1 gap-x-8 gap-y-3 text-sm sm:grid-cols-2">
      {facts
        .filter(([, value]) => value !== undefined && value !== false && value !== '')
        .map(([title, value]) => (
          <div key={title}>
            <dt className="text-zinc-600 dark:text-zinc-400">{title}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}
