import t from 'tap';
import type { Problem } from '../../../runtime/domain/problem.ts';
import {
  checkSourceFiles,
  chunkBytes,
  linkFault,
  pathFault,
  type SourceFile,
} from '../../../runtime/domain/source-files.ts';

const digest = 'a'.repeat(64);
const chunksOf = (size: number) => Array.from({ length: Math.ceil(size / chunkBytes) }, () => digest);
const file = (path: string, size = 0): SourceFile => ({ path, kind: 'file', chunks: chunksOf(size), size });
const link = (path: string, target: string): SourceFile => ({ path, kind: 'link', target, chunks: [], size: 0 });
const refusal = (files: SourceFile[]) => {
  try {
    checkSourceFiles(files);
    return undefined;
  } catch (error) {
    return error;
  }
};

t.test('a path that cannot be one says why', async (t) => {
  for (const [path, fault] of [
    ['', 'is empty'],
    ['\ud800', 'is not valid UTF-8'],
    ['a\nb', 'contains a control character'],
    ['a\\b', 'contains a backslash'],
    ['/a', 'is absolute'],
    ['a/', 'contains "", "." or ".." as a part'],
    ['a//b', 'contains "", "." or ".." as a part'],
    ['./a', 'contains "", "." or ".." as a part'],
    ['a/..', 'contains "", "." or ".." as a part'],
    [`a/${'x'.repeat(256)}/b`, 'has a part longer than 255 bytes'],
    ['é'.repeat(128), 'has a part longer than 255 bytes'],
    [`${'abc/'.repeat(250)}x`, 'is longer than 1000 bytes'],
  ] as const) {
    t.equal(pathFault(path), fault, JSON.stringify(path).slice(0, 30));
  }
  for (const path of ['a', '...', '.a/..b', `${'é'.repeat(127)}x`, `${'abc/'.repeat(249)}abcd`]) {
    t.equal(pathFault(path), undefined, path.slice(0, 30));
  }
});

t.test('a link that is not accepted says why', async (t) => {
  for (const [target, fault] of [
    ['', 'leads nowhere'],
    ['\ud800', 'leads to a path that is not allowed'],
    ['b\0', 'leads to a path that is not allowed'],
    ['b\\c', 'leads to a path that is not allowed'],
    ['x'.repeat(1_001), 'is longer than 1000 bytes'],
    ['/etc', 'leads to the absolute path /etc'],
    ['./b', 'leads to ./b, which is not in its shortest form'],
    ['b/../c', 'leads to b/../c, which is not in its shortest form'],
    ['../..', 'leads out of the folder, to ../..'],
    ['../../b', 'leads out of the folder, to ../../b'],
  ] as const) {
    t.equal(linkFault('folder/a', target), fault, JSON.stringify(target).slice(0, 30));
  }
  for (const target of ['b', '..', '../', '../b', '..b', 'b/c/', 'x'.repeat(1_000)]) {
    t.equal(linkFault('folder/a', target), undefined, target.slice(0, 30));
  }
});

t.test('files with all that they need are accepted', async (t) => {
  const files = [
    file('a', 1),
    file('b', chunkBytes),
    file('c/d', chunkBytes + 1),
    { ...file('c/run'), kind: 'program' as const },
    link('c/link', '../a'),
    file('c.txt'),
  ];
  t.equal(refusal(files), undefined);
});

t.test('a folder with one fault is refused, and the message names the path', async (t) => {
  const long = `a${'b/'.repeat(49)}..`;
  for (const [name, files, path] of [
    ['its path', [file('../a')], '../a'],
    ['its target', [link('a', '..')], 'a'],
    ['no target', [{ ...link('a', 'b'), target: undefined }], 'a'],
    ['a link with content', [{ ...file('a', 1), kind: 'link', target: 'b' }], 'a'],
    ['a file with a target', [{ ...file('a'), target: 'b' }], 'a'],
    ['a chunk too many', [{ ...file('a', 1), chunks: [digest, digest] }], 'a'],
    ['a chunk too few', [{ ...file('a', chunkBytes + 1), chunks: [digest] }], 'a'],
    ['twice', [file('a'), file('b'), file('a')], 'a'],
    ['below a file', [file('a'), file('a/b/c')], 'a/b/c'],
    ['below a link, which comes later', [file('a/b'), link('a', 'c')], 'a/b'],
    ['a long path', [file(long)], long],
  ] as [string, SourceFile[], string][]) {
    t.match(refusal(files), { code: 'invalid_source', details: { path } }, name);
  }
  t.match(refusal([file(long)]), { message: `The path "${long.slice(0, 99)}…" contains` });
  t.match(refusal([file(`${'b/'.repeat(49)}..`)]), { message: `The path "${'b/'.repeat(49)}.." contains` });
  const { details } = refusal([file(`${'b/'.repeat(120)}..`)]) as Problem;
  t.same(details, { path: 'b/'.repeat(100) }, 'the details are cut too');
  t.match(refusal([]), { code: 'invalid_source', message: 'The folder has no files to build.', details: undefined });
});

t.test('a folder has at most 10,000 files and 500 MiB', async (t) => {
  const many = (count: number) => Array.from({ length: count }, (_, index) => file(`f${index}`));
  t.equal(refusal(many(10_000)), undefined);
  t.match(refusal(many(10_001)), { code: 'source_too_large', details: { limit: 10_000 } });
  const halves = (size: number) => [file('a', size / 2), file('b', size / 2)];
  t.equal(refusal(halves(500 * 2 ** 20)), undefined);
  const tooLarge = refusal([...halves(500 * 2 ** 20), file('c', 1)]);
  t.match(tooLarge, { code: 'source_too_large', details: { limit: 500 * 2 ** 20 }, message: /more than 500 MiB/ });
});
