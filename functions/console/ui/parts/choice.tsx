import { useId } from 'react';

/** A choice of one value, with its label. */
export function Select({
  label,
  options,
  ...rest
}: { label: string; options: readonly { value: string; label?: string }[] } & React.ComponentProps<'select'>) {
  const id = useId();
  return (
    <div>
      <label htmlFor={id} className="mb-1 block text-sm font-medium">
        {label}
      </label>
      <select
        id={id}
        // As high as a field: browsers ignore the line height of a select.
        className="min-h-[calc(1lh+18px)] w-full rounded-md border border-zinc-400 bg-white px-3 py-2 dark:border-zinc-600 dark:bg-zinc-900"
        {...rest}
      >
        {options.map(({ value, label: option = value }) => (
          <option key={value} value={value}>
            {option}
          </option>
        ))}
      </select>
    </div>
  );
}
