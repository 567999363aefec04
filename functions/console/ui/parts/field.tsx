import { useId } from 'react';

/** A text field with its label. */
export function Field({ label, ...rest }: { label: string } & React.ComponentProps<'input'>) {
  const id = useId();
  return (
    <div>
      <label htmlFor={id} className="mb-1 block text-sm font-medium">
        {label}
      </label>
      <input
        id={id}
        className="w-full rounded-md border border-zinc-400 bg-white px-3 py-2 dark:border-zinc-600 dark:bg-zinc-900"
        {...rest}
      />
    </div>
  );
}

/** The text in a field of a form. */
export function valueOf(form: HTMLFormElement, name: string): string {
  const value = new FormData(form).get(name);
  return typeof value === 'string' ? value : '';
}
