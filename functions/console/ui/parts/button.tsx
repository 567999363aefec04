const looks = {
  primary:
    'bg-indigo-600 text-white hover:bg-indigo-700 dark:bg-indigo-400 dark:text-zinc-950 dark:hover:bg-indigo-300',
  plain:
    'border border-zinc-300 bg-white hover:bg-zinc-100 dark:border-zinc-700 dark:bg-zinc-900 dark:hover:bg-zinc-800',
  danger: 'bg-red-700 text-white hover:bg-red-800',
};

export const buttonLook = (look: keyof typeof looks = 'plain') =>
  `inline-flex min-h-8 items-center justify-center rounded-md px-3 text-sm font-medium whitespace-nowrap disabled:opacity-60 ${looks[look]}`;

export type ButtonProps = React.ComponentProps<'button'> & { look?: keyof typeof looks };

export function Button({ look, className = '', type = 'button', ...rest }: ButtonProps) {
  return <button type={type} className={`${buttonLook(look)} ${className}`} {...rest} />;
}
