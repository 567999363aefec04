import { readConsoleAssets } from '../../../functions/console/assets.ts';
import { consoleFolder } from '../../../infra/console/build.ts';
import { printFigure } from '../figure.ts';

/** What a browser loads before it shows a page: the page, the files that it names, and the scripts that these import. */
export function firstLoad(): void {
  const built = readConsoleAssets(consoleFolder);
  if (!built) throw new Error('the web console is not built: run npm run console');
  const html = built.page.content.identity.toString();
  const files = new Set([...html.matchAll(/\/assets\/([\w.-]+)"/g)].map(([, file = '']) => file));
  for (const file of files) {
    const code = built.assets.get(file)?.content.identity.toString() ?? '';
    for (const [, other = ''] of code.matchAll(/(?:from|import)\s*"\.\/([^"]+)"/g)) files.add(other);
  }
  const sizes = [...files].map((file) => built.assets.get(file)?.content.gzip?.length ?? 0);
  const bytes = sizes.reduce((sum, size) => sum + size, built.page.content.gzip?.length ?? 0);
  printFigure({ name: 'console.first-load', value: bytes / 1024, unit: 'KB', target: { operator: '<=', value: 200 } });
}
