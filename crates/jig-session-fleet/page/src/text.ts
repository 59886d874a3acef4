// Text from a broker is data: it is cut, cleaned of what nobody sees, and only ever set as text.

/** The longest text that is shown, in characters. */
const SHOWN = 200;
/**
 * What nobody sees, as the program judges it too: controls, format characters, separators of lines, what is ignorable,
 * and halves of characters; less the marks before a number and the two forms of an emoji, which are seen.
 */
const INVISIBLE =
  /(?![\u{FE0E}\u{FE0F}\u{600}-\u{605}\u{6DD}\u{70F}\u{890}\u{891}\u{8E2}\u{110BD}\u{110CD}])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Default_Ignorable_Code_Point}]/gu;

/** A foreign text as it is shown: one line, each invisible character as a visible mark. */
export function clean(text: string): string {
  const cut = text.length > SHOWN ? `${[...text.slice(0, 2 * SHOWN)].slice(0, SHOWN - 1).join("")}…` : text;
  return cut.replace(INVISIBLE, "\u{FFFD}");
}

/** A span of time in milliseconds, in its largest unit. */
export function span(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86_400)} d`;
}

/** A number of tokens, short. */
export function amount(count: number): string {
  if (count < 1000) return String(count);
  if (count < 1_000_000) return `${(count / 1000).toFixed(count < 10_000 ? 1 : 0)} k`;
  return `${(count / 1_000_000).toFixed(1)} M`;
}

/** `1 session`, `2 sessions`. */
export function count(number: number, one: string, many: string): string {
  return `${number} ${number === 1 ? one : many}`;
}
