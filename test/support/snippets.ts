// Configurations as the docs show them. Tests run them as they are, at other addresses.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'

/** The code block of docs/scaling.md that has this line. */
export async function scalingSnippet(line: string): Promise<string> {
  const guide = await readFile(new URL('../../docs/scaling.md', import.meta.url), 'utf8')
  const blocks = [...guide.matchAll(/^```[a-z]*\n(.*?)^```$/gms)].map(([, text]) => text!)
  const found = blocks.filter((text) => text.split('\n').includes(line))
  assert.equal(found.length, 1, `one code block of docs/scaling.md with the line "${line}"`)
  return found[0]!
}

/** With other addresses, ports and paths; each must be there. */
export function relocate(snippet: string, places: Record<string, string>): string {
  return Object.entries(places).reduce((text, [from, to]) => {
    assert.ok(text.includes(from), `${from} in:\n${text}`)
    return text.replaceAll(from, to)
  }, snippet)
}
