import type { Locator, Page } from 'playwright-core';

/** The pages of the web console by what a person sees: roles and names, never the structure of the page. */
export function consolePages(page: Page, address: string) {
  return {
    open: (path = '/') => page.goto(`${address}${path}`),
    path: () => new URL(page.url()).pathname,
    heading: (name: string): Locator => page.getByRole('heading', { level: 1, name, exact: true }),
    alert: (): Locator => page.getByRole('alert'),
    async signIn(email: string, password: string) {
      await page.getByLabel('Email address').fill(email);
      await page.getByLabel('Password').fill(password);
      await page.getByRole('button', { name: 'Sign in' }).click();
    },
    signOut: () => page.getByRole('button', { name: 'Sign out' }).click(),
    row: (name: string): Locator =>
      page.getByRole('row').filter({ has: page.getByRole('rowheader', { name, exact: true }) }),
    link: (name: string): Locator => page.getByRole('link', { name, exact: true }),
    button: (name: string): Locator => page.getByRole('button', { name, exact: true }),
    deployment: (revision: number): Locator => page.getByRole('article', { name: `Revision ${revision}`, exact: true }),
    dialog: (): Locator => page.getByRole('dialog'),
  };
}
