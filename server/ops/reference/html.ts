/** The icon of the tab: that of the dashboard. */
export const ICON = '/favicon.ico'

/** Text that is safe between tags and in quoted attributes. */
export function html(text: string): string {
  return plain(text).replaceAll('"', '&quot;')
}

/** Paragraphs, separated by empty lines. */
export function paragraphs(text: string): string {
  return text
    .split(/\n{2,}/)
    .filter((part) => part.trim() !== '')
    .map((part) => `<p>${prose(part)}</p>`)
    .join('')
}

/** Text with `code` in it. */
export function prose(text: string): string {
  return html(text).replaceAll(/`([^`]+)`/g, '<code>$1</code>')
}

const TOKENS =
  /(?<comment>(?<![:\w"'])\/\/[^\n]*)|(?<key>"(?:[^"\\]|\\.)*"(?=\s*:))|(?<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(?<word>\b(?:import|from|const|await|for|of|null|true|false|curl)\b)|(?<number>(?<=[\s[(])-?\d+(?:\.\d+)?\b)/g
const CLASSES = { comment: 'c', key: 'k', string: 's', word: 'w', number: 'n' } as const

/** Code with the colors of the style sheet: JSON, TypeScript and shell alike. */
export function highlight(code: string): string {
  let end = 0
  let out = ''
  for (const match of code.matchAll(TOKENS)) {
    const [kind] = Object.entries(match.groups!).find(([, text]) => text !== undefined)!
    out += plain(code.slice(end, match.index))
    out += `<i class=${CLASSES[kind as keyof typeof CLASSES]}>${plain(match[0])}</i>`
    end = match.index + match[0].length
  }
  return out + plain(code.slice(end))
}

/** Between tags quotes need no escape, and code has many. */
function plain(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
