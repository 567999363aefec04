/**
 * Words that people build passwords from: the bases of lists of leaked passwords, names of seasons, days and months, and
 * this platform's own words. Leetspeak is undone before they are looked up.
 */
const commonWords = `
password passwort passwd passphrase pass word secret secure security private login logon signin welcome hello letmein
open access enter admin administrator root user guest test testing tester demo example sample default temp temporary
change changeme please master super superman batman spiderman ironman starwars pokemon naruto dragon monkey tiger lion
eagle falcon phoenix panther horse dog cat puppy kitten bear shadow sunshine sunset moonlight rainbow flower butterfly
princess prince queen king angel devil heaven love lover lovely iloveyou baby honey sweet sugar cookie chocolate banana
apple orange cherry lemon pepper coffee summer winter spring autumn january february march april june july august
september october november december monday tuesday wednesday thursday friday saturday sunday football baseball
basketball soccer hockey tennis golf liverpool arsenal chelsea barcelona madrid juventus rangers yankees cowboys michael
jordan jessica jennifer ashley daniel thomas andrew joshua matthew robert charlie george maria anna computer internet
network server service system database windows linux ubuntu debian google facebook twitter amazon microsoft samsung
nokia iphone android github gitlab docker kubernetes cluster console platform kipper svc company business office work
home house family friend freedom forever money dollar lucky happy trustno matrix killer hunter ranger soldier whatever
nothing something jesus christ mustang ferrari porsche mercedes toyota harley guitar music metallica nirvana abc abcd
abcdef qwerty qwertz azerty asdf zxcv qazwsx wsxedc zaq xsw unknown nobody mother father sister
brother family michelle nicole amanda melissa stephanie samantha elizabeth patrick william james robert john david chris
christian alexander anthony joseph benjamin jonathan parola contrasena senha motdepasse wachtwoord haslo heslo this that
with from your
`
  .trim()
  .split(/\s+/)
  // Longer words first, so that `password` is one piece, not two.
  .sort((a, b) => b.length - a.length);

/** Rows of keyboards, the alphabet and the digits: runs along them, in either direction, count as one piece. */
const rows = [
  'abcdefghijklmnopqrstuvwxyz',
  '01234567890',
  'qwertyuiop',
  'asdfghjkl',
  'zxcvbnm',
  'qwertzuiop',
  'yxcvbnm',
  'azertyuiop',
  '1q2w3e4r5t6y7u8i9o0p',
  'q1w2e3r4t5y6u7i8o9p0',
  '1qaz2wsx3edc4rfv5tgb6yhn7ujm8ik9ol0p',
  'zaq12wsxcde34rfvbgt56yhnmju78ik',
  'zaq1xsw2cde3vfr4bgt5nhy6mju7',
  'qazwsxedcrfvtgbyhnujmikolp',
].flatMap((row) => [row, Array.from(row).toReversed().join('')]);

const leet = new Map(
  Object.entries({ '0': 'o', '1': 'i', '3': 'e', '4': 'a', '5': 's', '7': 't', '@': 'a', $: 's', '!': 'i' }),
);

/**
 * The length of a password in which everything that is guessed first counts as one character: a common word, a run along
 * the keyboard, a repetition, a year, and a word that is known about its user. Pure.
 * @param known texts that a guesser knows, such as the parts of the user's email address
 */
export function guessableLength(password: string, knownTexts: readonly string[] = []): number {
  const text = password.normalize('NFKC').toLowerCase();
  const spelled = text.replaceAll(/[013457@$!]/g, (char) => leet.get(char) ?? char);
  const words = [...knownTexts.map((word) => word.toLowerCase()).filter((word) => word.length >= 3), ...commonWords];
  let count = 0;
  for (let at = 0; at < text.length; count++) {
    at += Math.max(
      1,
      sameAt(text, at),
      repetitionAt(text, at),
      runAt(text, at),
      wordAt(text, at, words),
      wordAt(spelled, at, words),
      /^(?:19|20)\d\d/.test(text.slice(at, at + 4)) ? 4 : 0,
    );
  }
  return count;
}

function wordAt(text: string, at: number, words: readonly string[]): number {
  return words.find((word) => text.startsWith(word, at))?.length ?? 0;
}

/** The length of a run of three characters or more along a row. */
function runAt(text: string, at: number): number {
  let longest = 0;
  for (const row of rows) {
    const start = row.indexOf(text.charAt(at));
    if (start < 0) continue;
    let length = 1;
    while (at + length < text.length && text[at + length] === row[start + length]) length++;
    if (length >= 3) longest = Math.max(longest, length);
  }
  return longest;
}

/** The length of a run of one character, three times or more. */
function sameAt(text: string, at: number): number {
  let length = 1;
  while (at + length < text.length && text[at + length] === text[at]) length++;
  return length >= 3 ? length : 0;
}

/** The length of what repeats the characters before it: the second `abc` of `abcabc`, and `aa` after an `a`. */
function repetitionAt(text: string, at: number): number {
  for (let period = Math.min(at, 32); period >= 1; period--) {
    let length = 0;
    while (at + length < text.length && text[at + length] === text[at + length - period]) length++;
    if (length >= Math.max(2, period)) return length;
  }
  return 0;
}
