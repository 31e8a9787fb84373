import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { compileGlob, matchesGlob } from './glob.ts'

function matches(glob: string, text: string): boolean {
  const compiled = compileGlob(glob)
  if (compiled.kind === 'invalid') throw new Error(compiled.message)
  return matchesGlob(compiled.glob, text)
}

const CASES: [glob: string, matching: string[], others: string[]][] = [
  ['api/**', ['api/a', 'api/a/b.ts', 'api/.env'], ['api', 'web/api/a', 'apis/a']],
  ['*.md', ['README.md', '.md', '.x.md'], ['docs/a.md', 'README.mdx']],
  ['**/*.md', ['README.md', 'docs/a.md', 'docs/.b/c.md'], ['a.txt']],
  ['a/**/z', ['a/z', 'a/b/z', 'a/b/c/z'], ['az', 'a/bz', 'b/a/z']],
  ['**', ['a', 'a/b', '.git/x', ''], []],
  ['?.ts', ['a.ts', '.ts'.padStart(4, 'é')], ['.ts', 'ab.ts', '/.ts']],
  ['{api,web}/**', ['api/x', 'web/y/z'], ['cli/x', 'apiweb/x']],
  ['*.{ts,tsx}', ['a.ts', 'a.tsx'], ['a.tsxx', 'a.t']],
  ['a{,b}c', ['ac', 'abc'], ['abbc']],
  ['{a,b{c,d}}', ['a', 'bc', 'bd'], ['b', 'ac']],
  ['refs/heads/release-*', ['refs/heads/release-1.2'], ['refs/heads/release-1/2', 'refs/tags/release-1']],
  ['\\*\\{x\\}', ['*{x}'], ['a{x}', 'x']],
  ['a**b', ['ab', 'a/x/b', 'axb'], ['a/x']],
  ['😀?', ['😀😀', '😀a'], ['😀']],
]

test('globs match as documented', () => {
  for (const [glob, matching, others] of CASES) {
    for (const text of matching) assert.ok(matches(glob, text), `${glob} should match ${text}`)
    for (const text of others) assert.ok(!matches(glob, text), `${glob} should not match ${text}`)
  }
})

test('a glob that is no glob says why', () => {
  const invalid: [string, RegExp][] = [
    ['', /empty/],
    ['x'.repeat(257), /longer than 256/],
    ['{a,b', /"\{" without/],
    ['a}', /"\}" without/],
    ['a\\', /backslash/],
  ]
  for (const [glob, message] of invalid) {
    const compiled = compileGlob(glob)
    assert.ok(compiled.kind === 'invalid', glob)
    assert.match(compiled.message, message)
  }
})

/** Where braces were: stars on both sides of it stay apart. */
const SEAM = '|'

/** By the definition: expands the braces, and tries every way to match. */
function naive(glob: string, text: string): boolean {
  return expand(glob).some((one) => tries(one, text, true))
}

function expand(glob: string): string[] {
  const open = glob.indexOf('{')
  if (open < 0) return [glob]
  const close = glob.indexOf('}', open)
  return glob
    .slice(open + 1, close)
    .split(',')
    .flatMap((branch) => expand(`${glob.slice(0, open)}${SEAM}${branch}${SEAM}${glob.slice(close + 1)}`))
}

function tries(glob: string, text: string, startsFolder: boolean): boolean {
  if (glob === '') return text === ''
  if (glob[0] === SEAM) return tries(glob.slice(1), text, startsFolder)
  const rests = Array.from({ length: text.length + 1 }, (_, at) => at)
  if (startsFolder && glob.startsWith('**/'))
    return rests.some(
      (at) => (at === 0 || text[at - 1] === '/') && tries(glob.slice(3), text.slice(at), true),
    )
  if (glob.startsWith('**')) return rests.some((at) => tries(glob.slice(2), text.slice(at), false))
  if (glob[0] === '*')
    return rests.some((at) => !text.slice(0, at).includes('/') && tries(glob.slice(1), text.slice(at), false))
  if (text === '') return false
  const isSame = glob[0] === '?' ? text[0] !== '/' : glob[0] === text[0]
  return isSame && tries(glob.slice(1), text.slice(1), glob[0] === '/')
}

test('agrees with a matcher that tries every way', () => {
  const piece = fc.constantFrom(
    'a',
    'b',
    '.',
    '/',
    '*',
    '**',
    '**/',
    '?',
    '{a,b}',
    '{a/b,.}',
    '{b,*}',
    '{a/,b/}',
    '{a/,**/}',
  )
  const glob = fc
    .array(piece, { minLength: 1, maxLength: 7 })
    .map((pieces) => pieces.join(''))
    // Three stars in a row are one `**`; what they are for the other matcher is of no interest.
    .filter((text) => !expand(text).some((one) => one.includes('***')))
  const text = fc.array(fc.constantFrom('a', 'b', '.', '/'), { maxLength: 8 }).map((chars) => chars.join(''))
  fc.assert(
    fc.property(glob, text, (one, other) => {
      assert.equal(matches(one, other), naive(one, other), `${one} on ${other}`)
    }),
    { numRuns: 3000 },
  )
})

test('takes time in proportion to the text, whatever the glob', () => {
  const began = performance.now()
  for (const glob of ['*a'.repeat(120), '**a'.repeat(80), `${'{a,a*,**}'.repeat(27)}b`])
    assert.ok(!matches(glob, `${'a'.repeat(4_000)}c`))
  assert.ok(performance.now() - began < 5_000)
  assert.ok(!matches('**', 'a'.repeat(5_000)), 'a text that is too long matches nothing')
})
