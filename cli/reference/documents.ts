import type { Group, LazyGroup } from '../command.ts';
import { manualPage } from './manual.ts';
import { commandsPage } from './page.ts';
import { loadTree } from './tree.ts';

/** The generated documents, by path in the repository. */
export async function documentsOf(root: Group | LazyGroup, version: string): Promise<Record<string, string>> {
  const tree = await loadTree(root);
  return { 'docs/reference/commands.md': commandsPage(tree), 'docs/svc.1': manualPage(tree, version) };
}
