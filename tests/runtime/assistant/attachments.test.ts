import t from 'tap';
import { readAttachments } from '../../../runtime/assistant/attachments.ts';
import { Problem } from '../../../runtime/domain/problem.ts';

const base64 = (content: string | Buffer) => Buffer.from(content).toString('base64');
const file = (content: string | Buffer, name = 'a.txt') => ({ name, content: base64(content) });
const code = (question: string, files: { name: string; content: string }[]) => {
  try {
    readAttachments(question, files);
    return 'ok';
  } catch (error) {
    if (error instanceof Problem) return error.code;
    throw error;
  }
};
const fileMax = 256 * 1024;

t.test('a file has up to 256 KB, counted in bytes', (t) => {
  t.equal(code('?', [file('x'.repeat(fileMax - 1))]), 'ok');
  t.equal(code('?', [file('x'.repeat(fileMax))]), 'ok');
  t.equal(code('?', [file('x'.repeat(fileMax + 1))]), 'file_too_large');
  t.equal(code('?', [file('€'.repeat(fileMax / 2))]), 'file_too_large', 'not in characters');
  t.equal(code('?', [file('x'), file('x'.repeat(fileMax + 1))]), 'file_too_large');
  t.end();
});

t.test('a message has up to 1 MB with its files and its text', (t) => {
  const files = Array.from({ length: 4 }, () => file('x'.repeat(fileMax)));
  const last = (length: number) => [...files.slice(1), file('x'.repeat(length))];
  t.equal(code('?', last(fileMax - 2)), 'ok');
  t.equal(code('?', last(fileMax - 1)), 'ok');
  t.equal(code('?', last(fileMax)), 'message_too_large');
  t.equal(code('€', last(fileMax - 3)), 'ok');
  t.equal(code('€', last(fileMax - 2)), 'message_too_large', 'the text counts in bytes');
  t.end();
});

t.test('the content decides, not the name', (t) => {
  t.equal(code('?', [file('%PDF-1.4\n', 'notes.txt')]), 'file_not_text');
  t.equal(code('?', [file(Buffer.from('hello', 'utf16le'), 'notes.txt')]), 'file_not_text');
  t.equal(code('?', [file(Buffer.from('\ufeff漢字', 'utf16le'), 'notes.txt')]), 'file_not_text', 'without NUL bytes');
  t.equal(code('?', [file('a\0b', 'main.ts')]), 'file_not_text');
  t.equal(code('?', [file('plain', 'picture.png')]), 'ok');
  t.equal(code('?', [file('', 'empty')]), 'ok');
  t.same(readAttachments('?', [file('\ufeffä', 'a')]), [{ name: 'a', bytes: 5, text: 'ä' }]);
  t.end();
});

t.test('what is no base64 is refused, because its bytes are not known', (t) => {
  for (const content of ['!', 'YQ', 'YQ=', 'YR==', 'YQ==\n', 'YQ==YQ==', ' YQ==', '_-8=']) {
    t.equal(code('?', [{ name: 'a', content }]), 'invalid_request', JSON.stringify(content));
  }
  t.end();
});
