import { homeAt, homeFolder } from '../../infra/local/home.ts';
import * as journal from '../../runtime/logs/journal.ts';
import * as segment from '../../runtime/logs/segment.ts';
import type { Platform } from './platform.ts';

type Readers = Pick<typeof journal, 'readJournal'> & Pick<typeof segment, 'listBlocks' | 'readBlock'>;

/**
 * All text in the files of a log store, decompressed: its segments, the journals of what is not in one yet, and what lies
 * beside them. It needs nothing but its parameters, because it also runs in a pod. Empty without such a folder.
 */
export async function logStoreText(folder: string, { readJournal, listBlocks, readBlock }: Readers): Promise<string> {
  const { open, readFile, readdir } = await import('node:fs/promises');
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  const parts: string[] = [];
  for (const entry of entries) {
    if (!entry.isFile()) continue;
    const path = `${entry.parentPath}/${entry.name}`;
    try {
      if (entry.name.startsWith('journal-')) {
        parts.push(JSON.stringify(await readJournal(path, () => undefined)));
        continue;
      }
      await using file = await open(path);
      const blocks = await listBlocks(file, (await file.stat()).size);
      for (const block of blocks) parts.push((await readBlock(path, block)).toString());
      if (blocks.length === 0) parts.push((await readFile(path)).toString('latin1'));
    } catch (error) {
      // The store deletes files while they are read.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  }
  return parts.join('\n');
}

/** The arguments of a Node.js that prints {@link logStoreText} in the working folder of the platform's image. */
export function logStoreProgram(folder: string): string[] {
  const program = `const read = ${logStoreText.toString()};
const [journal, segment] = await Promise.all(['journal', 'segment'].map((name) => import(\`\${process.cwd()}/runtime/logs/\${name}.ts\`)));
process.stdout.write(await read(${JSON.stringify(folder)}, { ...journal, ...segment }));`;
  return ['--input-type=module', '-e', program];
}

/** What the platform's log store has, with the lines of pods that are gone; undefined while it is disabled. */
export async function storedLogs(platform: Platform): Promise<string | undefined> {
  if (platform.info.target === 'local') {
    const { logs } = homeAt(homeFolder(process.env));
    return (await logStoreText(logs, { ...journal, ...segment })) || undefined;
  }
  const pod = ['-n', 'monitoring', 'exec', 'log-store-0', '--'];
  if ((await platform.kubectl(...pod, 'true')).code !== 0) return undefined;
  const { code, stdout, stderr } = await platform.kubectl(...pod, 'node', ...logStoreProgram('/data'));
  if (code !== 0) throw new Error(`the files of the log store cannot be read: ${stderr}`);
  return stdout;
}
