import { assistantLimits } from '../../../../runtime/domain/assistant.ts';
import { ApiError } from '../api/client.ts';
import { assistantText } from '../text/assistant.ts';

/** A file of a message. */
export interface AttachedFile {
  name: string;
  bytes: number;
  /** In base64: the API checks the bytes. */
  content: string;
}

/** What of the limits the API says. */
type Limits = Record<'fileBytes' | 'messageBytes' | 'files', number>;

/** Characters of one call. */
const chunk = 8_192;

/** Bytes in base64. */
export function base64Of(bytes: Uint8Array): string {
  const parts: string[] = [];
  // All at once would be more arguments than a call can have.
  for (let at = 0; at < bytes.length; at += chunk) parts.push(String.fromCharCode(...bytes.subarray(at, at + chunk)));
  return btoa(parts.join(''));
}

/**
 * Refuses what is too large before it is read, with the code of the API, which checks it as well. Whether a file is text,
 * only the API says. @throws ApiError `file_too_large`, `message_too_large`, `invalid_request`
 */
export function checkSizes(
  files: readonly { name: string; bytes: number }[],
  { fileBytes, messageBytes, files: count }: Limits = assistantLimits,
): void {
  const large = files.find(({ bytes }) => bytes > fileBytes);
  if (large) throw refusal('file_too_large', assistantText.fileTooLarge(large.name, large.bytes, fileBytes));
  const total = files.reduce((sum, { bytes }) => sum + bytes, 0);
  if (total > messageBytes) throw refusal('message_too_large', assistantText.messageTooLarge(total, messageBytes));
  if (files.length > count) throw refusal('invalid_request', assistantText.tooManyFiles(count));
}

function refusal(code: string, message: string): ApiError {
  return new ApiError(message, { status: 413, code });
}

/** Reads files that the user has chosen, after those that are attached already. @throws ApiError */
export async function attach(
  attached: readonly AttachedFile[],
  chosen: readonly File[],
  limits: Limits,
): Promise<AttachedFile[]> {
  checkSizes([...attached, ...chosen.map(({ name, size }) => ({ name, bytes: size }))], limits);
  const added = await Promise.all(
    chosen.map(async (file) => {
      const bytes = new Uint8Array(await file.arrayBuffer());
      return { name: file.name, bytes: bytes.length, content: base64Of(bytes) };
    }),
  );
  return [...attached, ...added];
}
