import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import fc from 'fast-check'
import { GUARD } from './guard.ts'
import { BASH_OPTIONS, BOOTSTRAP, buildPreamble, quote, START_WORD, whyImpossible } from './preamble.ts'

const request = { command: 'true', environment: {}, workingFolder: null }

test('every text without NUL comes out of bash as it went in', () => {
  const texts = fc
    .sample(fc.string({ unit: 'binary', maxLength: 40 }), 300)
    .map((text) => text.replaceAll('\0', ''))
  const words = texts.map((text) => Buffer.from(text).toString())
  for (const locale of ['C', 'C.UTF-8']) {
    const { stdout } = spawnSync('bash', ['-c', `printf '%s\\0' ${words.map(quote).join(' ')}`], {
      env: { PATH: process.env.PATH, LC_ALL: locale },
    })
    assert.deepEqual(stdout.toString().split('\0').slice(0, -1), words)
  }
})

test('the preamble is its length and one line of plain ASCII, whatever the values', () => {
  const preamble = buildPreamble({ ...request, command: 'a\nb\r\n', environment: { A: 'ü\n\'"\\' } })
  assert.match(preamble, /^\d+\n[ -~]+\n$/)
})

test('bash reads exactly the preamble, and leaves the input to the command', () => {
  const input = `7\nnot for bash\n`
  const all = buildPreamble({ ...request, command: 'cat', input: {} as never }) + input
  const { stdout } = spawnSync('bash', BASH_OPTIONS, { input: all })
  const [start, ...rest] = stdout.toString().split('\n')
  assert.match(start!, new RegExp(`^${START_WORD} \\d+$`))
  assert.equal(rest.join('\n'), input)
})

test('what travels on a command line passes any login shell in single quotes', () => {
  for (const script of [BOOTSTRAP, GUARD]) {
    assert.doesNotMatch(script, /['\\!\r\n]/)
    assert.equal(spawnSync('bash', ['-n', '-c', script]).stderr.toString(), '')
  }
})

test('bash that receives no preamble, or only a part of it, does nothing', () => {
  const command = buildPreamble({ ...request, command: 'echo obeyed; exit 0' })
  // Wherever it is cut, what comes before would be a command too.
  const tempting = '40\necho obeyed; echo obeyed; echo obeyed; echo'
  for (const text of ['', '1', '40\n', command.slice(0, -1), command.slice(0, -40), tempting]) {
    const { stdout, status } = spawnSync('bash', BASH_OPTIONS, { input: text, timeout: 20_000 })
    assert.doesNotMatch(stdout.toString(), /obeyed/, text)
    assert.equal(status, 1)
  }
})

test('what bash cannot accept is rejected before anything starts', () => {
  assert.equal(whyImpossible(request), undefined)
  const impossible: Partial<Parameters<typeof whyImpossible>[0]>[] = [
    { command: 'x'.repeat(64 * 1024 + 1) },
    { command: 'a\0b' },
    { workingFolder: 'relative' },
    { workingFolder: '/a\0b' },
    { environment: { A: 'a\0b' } },
    { environment: { 'A-B': '' } },
    { environment: { GANTRY_COMMAND: 'mine' } },
  ]
  for (const change of impossible) {
    assert.equal(
      whyImpossible({ ...request, ...change })?.kind,
      'impossible',
      JSON.stringify(change).slice(0, 50),
    )
  }
})
