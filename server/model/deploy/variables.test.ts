import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { promisify } from 'node:util'
import fc from 'fast-check'
import { isReservedName, type StepFacts, stepEnvironment } from './variables.ts'

const FACTS: StepFacts = {
  actionId: 7,
  targetId: 8,
  environment: 'Production',
  server: 'web-1',
  application: 'Shop',
  source: { type: 'branch', ref: 'main' },
  commit: '0123456789abcdef0123456789abcdef01234567',
  release: '20261114120000-01234567',
  paths: {
    release: '/srv/shop/releases/20261114120000-01234567',
    current: '/srv/shop/current',
    shared: '/srv/shop/shared',
  },
}
const NO_FACTS: StepFacts = {
  ...FACTS,
  application: null,
  source: null,
  commit: null,
  release: null,
  paths: null,
}

function ready(
  hookVariables: Record<string, unknown>,
  applicationVariables: { name: string; value: string }[] = [],
  facts = NO_FACTS,
) {
  const made = stepEnvironment({ hookVariables, applicationVariables, facts })
  assert.ok(made.kind === 'ready', JSON.stringify(made))
  return made
}

test('a step knows what Gantry knows about its run', () => {
  assert.deepEqual(ready({}, [], FACTS), {
    kind: 'ready',
    notes: [],
    environment: {
      GANTRY_ACTION_ID: '7',
      GANTRY_TARGET_ID: '8',
      GANTRY_ENVIRONMENT: 'Production',
      GANTRY_SERVER: 'web-1',
      GANTRY_APPLICATION: 'Shop',
      GANTRY_SOURCE_TYPE: 'branch',
      GANTRY_SOURCE_REF: 'main',
      GANTRY_BRANCH: 'main',
      GANTRY_COMMIT: FACTS.commit,
      GANTRY_RELEASE: FACTS.release,
      GANTRY_RELEASE_PATH: FACTS.paths!.release,
      GANTRY_CURRENT_PATH: '/srv/shop/current',
      GANTRY_SHARED_PATH: '/srv/shop/shared',
    },
  })
  const tagged = ready({}, [], { ...FACTS, source: { type: 'tag', ref: 'v1' } }).environment
  assert.deepEqual([tagged.GANTRY_TAG, tagged.GANTRY_BRANCH], ['v1', undefined])
})

test('what does not apply is not set at all', () => {
  const names = Object.keys(ready({}).environment).sort()
  assert.deepEqual(names, ['GANTRY_ACTION_ID', 'GANTRY_ENVIRONMENT', 'GANTRY_SERVER', 'GANTRY_TARGET_ID'])
})

test('hook variables get a prefix, and every type becomes text', () => {
  const { environment } = ready({
    branch: 'a b\n"$(x)"',
    'build-no': 12,
    dry_run: false,
    files: ['a', 1, null],
    gone: null,
    none: [],
    empty: '',
  })
  assert.equal(environment.GANTRY_VAR_BRANCH, 'a b\n"$(x)"')
  assert.equal(environment.GANTRY_VAR_BUILD_NO, '12')
  assert.equal(environment.GANTRY_VAR_DRY_RUN, 'false')
  assert.equal(environment.GANTRY_VAR_FILES, '["a",1,null]')
  assert.equal(environment.GANTRY_VAR_NONE, '[]')
  assert.equal(environment.GANTRY_VAR_EMPTY, '')
  assert.equal('GANTRY_VAR_GONE' in environment, false)
})

test('of two hook variables that would get one name, the one spelled like that has it', () => {
  for (const variables of [
    { 'a-b': '1', a_b: '2' },
    { a_b: '2', 'a-b': '1' },
  ]) {
    const { environment, notes } = ready(variables)
    assert.equal(environment.GANTRY_VAR_A_B, '2')
    assert.deepEqual(notes, [
      'The hook variable "a-b" is ignored: another variable is already named GANTRY_VAR_A_B.',
    ])
  }
})

test('an application cannot decide which programs are found, nor speak for Gantry', () => {
  const names = [
    'PATH',
    'HOME',
    'LD_PRELOAD',
    'LD_LIBRARY_PATH',
    'BASH_ENV',
    'BASHOPTS',
    'ENV',
    'IFS',
    'UID',
    'GANTRY_COMMAND',
    'GANTRY_VAR_X',
    'bad-name',
    'a=b',
    '',
    '1',
  ]
  const { environment, notes } = ready(
    { x: '1' },
    names.map((name) => ({ name, value: 'secret' })),
  )
  assert.equal(Object.values(environment).includes('secret'), false)
  assert.equal(notes.length, names.length)
  assert.equal(notes.join('').includes('secret'), false)
  assert.equal(notes[0], 'The application variable "PATH" is ignored: its name is reserved.')
})

test('application variables keep their names, also the odd ones', () => {
  const names = [
    'DATABASE_URL',
    'NODE_OPTIONS',
    'node_env',
    '__proto__',
    'constructor',
    'LDAP_URL',
    'Path',
    'TZ',
  ]
  const { environment, notes } = ready(
    {},
    names.map((name) => ({ name, value: `of ${name}` })),
  )
  assert.deepEqual(notes, [])
  for (const name of names)
    assert.equal(Object.getOwnPropertyDescriptor(environment, name)?.value, `of ${name}`)
})

test('bash passes every name on that an application may use, as it is', async () => {
  const special =
    'BASHPID COLUMNS COMP_WORDS DIRSTACK EPOCHSECONDS EPOCHREALTIME EUID FUNCNAME GROUPS HISTCMD HOSTNAME HOSTTYPE IFS LINENO LINES MACHTYPE MAPFILE OLDPWD OPTARG OPTERR OPTIND OSTYPE PIPESTATUS PPID PWD RANDOM REPLY SECONDS SHELLOPTS SHLVL SRANDOM TERM TMOUT TZ UID _'
  const names = special.split(' ').filter((name) => !isReservedName(name))
  const script = `export ${names.map((name) => `${name}=5`).join(' ')}; exec env`
  const { stdout } = await promisify(execFile)('/bin/bash', ['--norc', '-c', script], {
    env: { PATH: process.env.PATH },
  })
  for (const name of names) assert.ok(`\n${stdout}`.includes(`\n${name}=5\n`) || name === 'SHLVL', name)
})

test('an environment that is too large is rejected, naming the variable and not its value', () => {
  const whole = stepEnvironment({
    hookVariables: {},
    applicationVariables: [{ name: 'BIG', value: 'x'.repeat(131_072) }],
    facts: FACTS,
  })
  assert.deepEqual(whole, {
    kind: 'too-large',
    message: 'The variable BIG is larger than 128 KiB: no program could be started.',
  })
  const hookVariables = Object.fromEntries(
    Array.from({ length: 17 }, (_, index) => [`v${index}`, 'x'.repeat(65_536)]),
  )
  assert.equal(stepEnvironment({ hookVariables, applicationVariables: [], facts: FACTS }).kind, 'too-large')
})

test('an environment of the largest size starts a program', async () => {
  const hookVariables = Object.fromEntries(
    Array.from({ length: 15 }, (_, index) => [`v${index}`, 'x'.repeat(65_536)]),
  )
  const { environment } = ready(hookVariables, [{ name: 'BIG', value: 'y'.repeat(60_000) }])
  const env = { ...environment, PATH: process.env.PATH }
  const { stdout } = await promisify(execFile)('/bin/bash', ['--norc', '-c', 'env | wc -c'], { env })
  assert.ok(Number(stdout) > 1_000_000)
})

test('whatever the input, nothing is thrown, no name is invalid and no value has a NUL', () => {
  const any = fc.array(fc.nat(0xffff), { maxLength: 20 }).map((units) => String.fromCharCode(...units))
  const text = fc.oneof(any, fc.string({ unit: fc.constantFrom('\0', 'a', '-', '_', '\ud800', '=') }))
  const name = fc.oneof(text, fc.constantFrom('PATH', '__proto__', 'a-b', 'a_b', 'GANTRY_RELEASE'))
  fc.assert(
    fc.property(
      fc.dictionary(name, fc.oneof(fc.jsonValue(), text)),
      fc.array(fc.record({ name, value: text })),
      text,
      (hookVariables, applicationVariables, word) => {
        const facts = {
          ...FACTS,
          server: word,
          application: word,
          source: { type: 'tag' as const, ref: word },
        }
        const { environment } = ready(hookVariables, applicationVariables, facts)
        for (const [key, value] of Object.entries(environment)) {
          assert.match(key, /^[A-Za-z_][A-Za-z0-9_]*$/)
          assert.ok(!value.includes('\0') && value.isWellFormed())
        }
        assert.equal(environment.GANTRY_RELEASE, FACTS.release)
        assert.equal(Object.hasOwn(environment, 'PATH'), false)
      },
    ),
  )
})
