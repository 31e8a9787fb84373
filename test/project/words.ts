// Checks the words that people read: texts in the code (string literals, templates, JSX) and the docs use none of the
// phrases below. Comments and identifiers are not checked, tests neither.

import { glob, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseSync } from 'vite'

type Phrase = { found: RegExp; instead: string }

/** A text of a file, and where it starts. */
type Text = { value: string; start: number }

export type Finding = { path: string; line: number; phrase: string; instead: string }

/** White space in a pattern is any white space: texts are wrapped. */
const PHRASES: Phrase[] = [
  {
    found: phrase('(go|goes|going|gone|went) back'),
    instead: 'revert (automatic), roll back (done by a person), return',
  },
  {
    found: phrase('(take|takes|taking|taken|took) back'),
    instead: 'revert (automatic), roll back (done by a person)',
  },
  { found: phrase('(fail|fails|failed|failing) for good'), instead: 'failed permanently' },
  {
    found: phrase('(whoever|nobody|somebody)'),
    instead: 'the actor by name: the caller, a person, no worker',
  },
  {
    found: phrase('as far as [^.;:]{1,40} (see|sees|know|knows|known)'),
    instead: 'that the caller can view, if known',
  },
]

/** The account of that name, as code or in quotes. */
const ACCOUNT = /[`'"]nobody[`'"]|chown -R nobody|^nobody$/g

const CODE = ['server/**/*.{ts,js}', 'cli/src/**/*.{ts,tsx}', 'client/src/**/*.ts', 'web/src/**/*.{ts,tsx}']

const DOCS = ['*.md', '{docs,bench,cli,client,web}/**/*.md']

/** Read by no one but developers, or written by a generator from texts that are checked. */
const SKIPPED =
  /\/node_modules\/|\/dist\/|\.test\.tsx?$|\/(test-|fixtures)[^/]*$|^client\/src\/api-types\.ts$/

/** Paths are relative to `root`. */
export async function findPhrases(root: string): Promise<Finding[]> {
  const findings: Finding[] = []
  for await (const path of glob([...CODE, ...DOCS], { cwd: root })) {
    if (SKIPPED.test(path)) continue
    const source = await readFile(join(root, path), 'utf8')
    const texts = path.endsWith('.md') ? [{ value: source, start: 0 }] : textsIn(path, source)
    for (const text of texts) findings.push(...findingsIn(path, source, text))
  }
  return findings.sort((a, b) => a.path.localeCompare(b.path) || a.line - b.line)
}

export function describe({ path, line, phrase: found, instead }: Finding): string {
  return `${path}:${line}: "${found}"; use instead: ${instead}`
}

function phrase(pattern: string): RegExp {
  return new RegExp(`\\b${pattern.replaceAll(' ', '\\s+')}\\b`, 'gi')
}

function findingsIn(path: string, source: string, { value, start }: Text): Finding[] {
  const text = value.replace(ACCOUNT, (account) => ' '.repeat(account.length))
  return PHRASES.flatMap(({ found, instead }) =>
    [...text.matchAll(found)].map((match) => ({
      path,
      line: source.slice(0, start + match.index).split('\n').length,
      phrase: match[0].replace(/\s+/g, ' '),
      instead,
    })),
  )
}

/** Comments and identifiers are no part of them. */
function textsIn(path: string, source: string): Text[] {
  const { program, errors } = parseSync(path, source)
  if (errors.length > 0) throw new Error(`${path} cannot be parsed: ${errors[0]!.message}`)
  const texts: Text[] = []
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return
    const text = textOf(node as Node)
    if (text) texts.push(text)
    for (const child of Object.values(node)) visit(child)
  }
  visit(program)
  return texts
}

type Node = { type?: string; start: number; value?: unknown }

function textOf({ type, start, value }: Node): Text | undefined {
  if (type === 'JSXText') return { value: value as string, start }
  // Behind the quote, or behind the brace that ends an expression.
  if (type === 'Literal' && typeof value === 'string') return { value, start: start + 1 }
  if (type !== 'TemplateElement') return undefined
  return { value: (value as { cooked: string | null }).cooked ?? '', start: start + 1 }
}

if (import.meta.main) {
  const findings = await findPhrases(join(import.meta.dirname, '../..'))
  for (const finding of findings) console.error(describe(finding))
  process.exitCode = findings.length > 0 ? 1 : 0
}
