import { useId } from 'react';

const look = 'rounded-md border border-zinc-400 bg-white font-mono text-sm dark:border-zinc-600 dark:bg-zinc-900';

/** A field for several lines, with its label. @param numbered shows the numbers of the lines beside them, as for code */
export function Area({
  label,
  value,
  numbered = false,
  rows = 3,
  ...rest
}: { label: string; value: string; numbered?: boolean } & React.ComponentProps<'textarea'>) {
  const id = useId();
  const count = value.split('\n').length;
  return (
    <div>
      <label htmlFor={id} className="mb-1 block text-sm font-medium">
        {label}
      </label>
      <div className={numbered ? `flex ${look}` : ''}>
        {numbered && (
          <pre aria-hidden="true" className="py-2 pr-2 pl-3 text-right text-zinc-500 select-none dark:text-zinc-400">
            {Array.from({ length: Math.max(count, rows) }, (_, index) => `${index + 1}\n`).join('')}
          </pre>
        )}
        <textarea
          id={id}
          value={value}
          // As high as its lines, so that the numbers stay beside them.
          rows={Math.max(count, rows)}
          spellCheck={false}
          autoComplete="off"
          className={
            numbered
              ? 'min-w-0 flex-1 overflow-x-auto bg-transparent px-2 py-2 whitespace-pre'
              : `block w-full px-3 py-2 ${look}`
          }
          {...rest}
        />
      </div>
    </div>
  );
}
