/**
 * Characters that are not seen or change the order of those that are: a text could say something else to a model than to
 * a person, or control a terminal.
 */
const unseen = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Variation_Selector}]/gu;
/** The same without line ends and tabs, which texts of several lines need. */
const unseenInText = /[^\P{Cc}\t\n]|[\p{Cf}\p{Zl}\p{Zp}\p{Variation_Selector}]/gu;

/** The text in a line of JSON with unseen characters as escapes. */
export function escapeUnseen(json: string): string {
  return json.replaceAll(unseen, escapes);
}

/** A text of several lines with unseen characters as escapes; `\r\n` is a line end. */
export function showUnseen(text: string): string {
  return text.replaceAll('\r\n', '\n').replaceAll(unseenInText, escapes);
}

/** A text of several lines without unseen characters. */
export function withoutUnseen(text: string): string {
  return text.replaceAll(unseenInText, '');
}

/** Whether a text has an unseen character, line ends and tabs included. */
export function hasUnseen(text: string): boolean {
  return text.search(unseen) >= 0;
}

/** Whether a text of several lines has an unseen character. */
export function hasUnseenInText(text: string): boolean {
  return text.search(unseenInText) >= 0;
}

function escapes(match: string): string {
  return [...Array(match.length).keys()].map((at) => escapeOf(match.charCodeAt(at))).join('');
}

function escapeOf(unit: number): string {
  return `\\u${unit.toString(16).padStart(4, '0')}`;
}
