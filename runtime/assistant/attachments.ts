import { assistantLimits } from '../domain/assistant.ts';
import { Problem } from '../domain/problem.ts';
import { textOfFile } from '../domain/text-file.ts';

/** A file as a request has it. */
export interface SentFile {
  name: string;
  /** Its bytes in base64. */
  content: string;
}

/** A text file of a message. */
export interface Attachment {
  name: string;
  bytes: number;
  text: string;
}

/**
 * The files of a message, checked by their bytes and their content.
 * @throws Problem `file_too_large`, `message_too_large`, `file_not_text`, and `invalid_request` for what is no base64
 */
export function readAttachments(question: string, files: readonly SentFile[]): Attachment[] {
  const { fileBytes, messageBytes } = assistantLimits;
  let total = Buffer.byteLength(question);
  const contents = files.map(({ name, content }, at) => {
    const bytes = Buffer.from(content, 'base64');
    if (bytes.toString('base64') !== content) {
      throw new Problem('invalid_request', `The request is not valid: body.files.${at}.content: must be base64.`);
    }
    if (bytes.length > fileBytes) {
      const message = `The file ${quoted(name)} has ${bytes.length} bytes; at most ${fileBytes} (256 KB) are allowed.`;
      throw new Problem('file_too_large', message, { details: { file: name, max: fileBytes } });
    }
    total += bytes.length;
    return { name, bytes };
  });
  if (total > messageBytes) {
    const message = `The message has ${total} bytes with its files; at most ${messageBytes} (1 MB) are allowed.`;
    throw new Problem('message_too_large', message, { details: { max: messageBytes } });
  }
  return contents.map(({ name, bytes }) => {
    const text = textOfFile(bytes);
    if (text !== undefined) return { name, bytes: bytes.length, text };
    const message = `The file ${quoted(name)} is not a text file in UTF-8. Images, PDFs and other binary files are not supported.`;
    throw new Problem('file_not_text', message, { details: { file: name } });
  });
}

function quoted(name: string): string {
  return JSON.stringify(name.slice(0, 100));
}
