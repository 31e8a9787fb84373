import { html } from '#ops/reference/html.ts'

/** What looks the same in several languages. A string ends on its line. */
const COMMENT = /(?<c>(?<=^|\s)#.*$)/gm
const SHELL = /(?<c>(?<=^|\s)#.*$)|(?<s>"(?:[^"\\\n]|\\.)*"|'[^'\n]*')/gm
const KEYS = /(?<c>(?<=^|\s)#.*$)|(?<k>(?<=^[\s-]*)[\w.-]+(?=:(?:\s|$)))/gm

const PATTERNS: Record<string, RegExp> = {
  bash: SHELL,
  sh: SHELL,
  yaml: KEYS,
  ini: COMMENT,
  nginx: COMMENT,
  python: COMMENT,
}

/** Code with the colors of the style sheet; `script` is for JSON, JavaScript and TypeScript. Pure. */
export function highlightCode(code: string, language: string, script: (code: string) => string): string {
  if (['json', 'js', 'ts'].includes(language)) return script(code)
  const pattern = PATTERNS[language]
  if (!pattern) return html(code)
  let end = 0
  let out = ''
  for (const match of code.matchAll(pattern)) {
    const [kind] = Object.entries(match.groups!).find(([, text]) => text !== undefined)!
    out += `${html(code.slice(end, match.index))}<i class=${kind}>${html(match[0])}</i>`
    end = match.index + match[0].length
  }
  return out + html(code.slice(end))
}
