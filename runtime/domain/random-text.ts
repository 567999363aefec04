import { randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';

const alphabet = 'abcdefghijklmnopqrstuvwxyz0123456789';

/** Random characters of [a-z0-9]; 40 of them are 206 bits. */
export function randomText(length: number): string {
  let text = '';
  for (let index = 0; index < length; index++) text += alphabet[randomInt(alphabet.length)];
  return text;
}

/** Six characters in base 36: the CRC-32 of a text, modulo 36^6. Not a security measure. */
export function checksum(body: string): string {
  return (crc32(body) % 36 ** 6).toString(36).padStart(6, '0');
}
