/** How the tab of a page looks, for a link with its path. */
export const tabLook = {
  activeOptions: { exact: true, includeSearch: false },
  activeProps: { className: 'border-b-2 border-indigo-600 py-2 font-semibold dark:border-indigo-400' },
  inactiveProps: { className: 'py-2 hover:underline' },
} as const;

/** The tabs of an object. @param label the kind of the object */
export function Tabs({ label, children }: { label: string; children: React.ReactNode }) {
  return (
    <nav
      aria-label={label}
      className="mb-6 flex flex-wrap gap-x-5 border-b border-zinc-200 text-sm dark:border-zinc-800"
    >
      {children}
    </nav>
  );
}
