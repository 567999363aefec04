import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The part of V8's coverage that is read here: https://chromedevtools.github.io/devtools-protocol/tot/Profiler */
interface Report {
  result: { url: string; functions: { ranges: { startOffset: number; endOffset: number; count: number }[] }[] }[];
}

/** Whether a place in a source file was executed. @param file relative to the root */
export type Executed = (file: string, offset: number) => boolean;

/**
 * Reads what Node wrote to `folder` because of NODE_V8_COVERAGE. Types are stripped in place, so that offsets are those of
 * the source.
 */
export function readCoverage(folder: string, root: string): Executed {
  const scripts = readdirSync(folder)
    .map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')) as Report)
    .flatMap(({ result }) => result)
    .filter(({ url }) => url.startsWith(`file://${root}/`) && !url.includes('/node_modules/'))
    .map(({ url, functions }) => ({
      file: relative(root, fileURLToPath(url)),
      // A range overrides those around it.
      ranges: functions.flatMap(({ ranges }) => ranges).sort((a, b) => lengthOf(a) - lengthOf(b)),
    }));
  return (file, offset) =>
    scripts.some((script) => {
      if (script.file !== file) return false;
      const innermost = script.ranges.find(({ startOffset, endOffset }) => startOffset <= offset && offset < endOffset);
      return innermost !== undefined && innermost.count > 0;
    });
}

function lengthOf({ startOffset, endOffset }: { startOffset: number; endOffset: number }): number {
  return endOffset - startOffset;
}
