import { useEffect } from 'react';
import { text } from '../text/common.ts';

/** The heading of a page, which is also the title of the tab. */
export function Heading({ title, children }: { title: string; children?: React.ReactNode }) {
  useEffect(() => {
    document.title = `${title} · ${text.product}`;
  }, [title]);
  return (
    <div className="mb-4 flex flex-wrap items-center gap-x-3 gap-y-2">
      <h1 className="text-xl font-semibold">{title}</h1>
      {children}
    </div>
  );
}

/** A page outside the frame, such as the one to sign in. */
export function Narrow({ children }: { children: React.ReactNode }) {
  return (
    <main className="mx-auto flex min-h-dvh w-full max-w-sm flex-col justify-center gap-4 px-4 py-8">{children}</main>
  );
}

const widths = { md: 'hidden md:table-cell', lg: 'hidden lg:table-cell' };

/** Cells of tables. On narrow screens, cells with `wide` are left out: on phones, or with `lg` on tablets, too. */
export function Cells({ heads }: { heads: readonly { title: string; wide?: boolean | 'lg' }[] }) {
  return (
    <thead className="border-b border-zinc-300 text-left text-xs text-zinc-600 dark:border-zinc-700 dark:text-zinc-400">
      <tr>
        {heads.map(({ title, wide }) => (
          <th
            key={title}
            scope="col"
            className={`py-2 pr-4 font-medium wrap-break-word ${wide ? widths[wide === true ? 'md' : wide] : ''}`}
          >
            {title}
          </th>
        ))}
      </tr>
    </thead>
  );
}

export const rowLook = 'border-b border-zinc-200 align-top dark:border-zinc-800';
export const cellLook = 'py-2 pr-4';
export const wideCellLook = `${cellLook} ${widths.md}`;
export const widestCellLook = `${cellLook} ${widths.lg}`;
/** Of cells with words of the console itself or with figures, which are never broken. */
export const wordLook = 'wrap-normal';
/** Of cells with names: a long message beside a name does not squeeze it. */
export const nameCellLook = `${cellLook} min-w-24 text-left`;
export const linkLook = 'font-medium text-indigo-700 underline-offset-2 hover:underline dark:text-indigo-300';
