/**
 * The contents of all elements of a name, in time that is linear in the text, whatever it contains; no element that is
 * read with it contains one of its own name. Pure.
 */
export function textsOf(xml: string, name: string): string[] {
  const [open, close] = [`<${name}>`, `</${name}>`];
  const texts: string[] = [];
  for (let from = 0; ;) {
    const start = xml.indexOf(open, from);
    const end = start < 0 ? -1 : xml.indexOf(close, start + open.length);
    if (end < 0) return texts;
    texts.push(xml.slice(start + open.length, end));
    from = end + close.length;
  }
}

const entities: ReadonlyMap<string, string> = new Map(
  Object.entries({ lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" }),
);
const codePointMax = 0x10ffff;

/** Replaces entities and character references; those that mean nothing stay as they are. Pure. */
export function unescapeXml(text: string): string {
  return text.replace(/&(#x?)?(\w{1,8});/g, (all, number: string | undefined, name: string) => {
    if (number === undefined) return entities.get(name) ?? all;
    const codePoint = Number.parseInt(name, number === '#' ? 10 : 16);
    return codePoint <= codePointMax ? String.fromCodePoint(codePoint) : all;
  });
}
