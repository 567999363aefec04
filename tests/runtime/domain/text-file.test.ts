import t from 'tap';
import { textOfFile } from '../../../runtime/domain/text-file.ts';

const utf16 = (text: string) => Buffer.from(text, 'utf16le');

t.test('text in UTF-8 is text, whatever it says', (t) => {
  const texts = ['', 'a', 'line\r\n\tline\n\f\v', 'ä € 😀', '<svg onload="x"/>', '%!PS', 'see %PDF-1.7', '\ufeffb'];
  for (const text of texts) t.equal(textOfFile(Buffer.from(text)), text.replace(/^\ufeff/, ''), JSON.stringify(text));
  t.end();
});

t.test('a PDF begins within the first 1,024 characters', (t) => {
  const afterSpaces = (count: number) => textOfFile(Buffer.from(`${' '.repeat(count)}%PDF-1.4`));
  t.equal(afterSpaces(1_019), undefined);
  t.not(afterSpaces(1_020), undefined);
  t.end();
});

t.test('everything else is none', (t) => {
  const files: [string, Buffer][] = [
    ['a PDF that is all ASCII', Buffer.from('%PDF-1.4\n1 0 obj << >> endobj')],
    ['a PDF after white space', Buffer.from('\n  \ufeff%PDF-1.4\n')],
    ['UTF-16 with a byte order mark', Buffer.concat([Buffer.from([0xff, 0xfe]), utf16('hello')])],
    ['UTF-16 without one', utf16('hello')],
    ['UTF-16 without ASCII', utf16('日本語')],
    ['UTF-16, big endian', utf16('hello').swap16()],
    ['Latin-1', Buffer.from('\u00e4', 'latin1')],
    ['NUL', Buffer.from('a\0b')],
    ['an escape sequence of a terminal', Buffer.from('\u001b[2J')],
    ['a backspace', Buffer.from('a\b')],
    ['DEL', Buffer.from('\u007f')],
    ['a C1 control character', Buffer.from('\u009b31m')],
    ['a part of a character', Buffer.from([0xe2, 0x82])],
    ['a surrogate', Buffer.from([0xed, 0xa0, 0x80])],
    ['more bytes than needed', Buffer.from([0xc0, 0xaf])],
    ['a PNG', Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])],
    ['a GIF', Buffer.from('GIF89a\u0001\u0000\u0001\u0000')],
    ['gzip', Buffer.from([0x1f, 0x8b, 0x08, 0x00])],
    ['an ELF program', Buffer.from('\u007fELF\u0002')],
    ['a zip archive', Buffer.from('PK\u0003\u0004')],
  ];
  for (const [name, bytes] of files) t.equal(textOfFile(bytes), undefined, name);
  t.end();
});
