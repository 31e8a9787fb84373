import assert from 'node:assert/strict'
import { resolve } from 'node:path'
import { test } from 'node:test'
import { baseAddress, type Config, ConfigError, reachedAt, readConfig, settings } from './config.ts'

const MIB = 1024 * 1024
const KEY = 'ab'.repeat(32)
const POSTGRES = 'postgres://gantry@db.example.com/gantry'

const DEFAULTS: Config = {
  port: 7070,
  host: '127.0.0.1',
  publicUrl: undefined,
  home: resolve('data'),
  databaseUrl: undefined,
  role: 'all',
  adminEmail: 'admin@example.com',
  adminPassword: undefined,
  secretKey: undefined,
  allowTargets: [],
  trustProxy: [],
  sample: true,
  maxPayload: MIB,
  keepBodiesDays: 30,
  logLevel: 'info',
  databaseConnections: 10,
  accessTokenMinutes: 720,
  refreshTokenDays: 30,
  requestTimeoutMs: 30_000,
  heartbeatSeconds: 20,
  pollMs: 5_000,
  deliveryPollMs: 1_000,
  stopGraceMs: 10_000,
}

/** For each setting: texts and what they mean; texts that are refused. */
const EXAMPLES: { [Key in keyof Config]: { right: [string, Config[Key]][]; wrong: string[] } } = {
  port: {
    right: [
      ['0', 0],
      ['65535', 65_535],
    ],
    wrong: ['-1', '65536', '80a', '8e1', '0x50', ' 80', '7070.0'],
  },
  host: {
    right: [
      ['0.0.0.0', '0.0.0.0'],
      ['::', '::'],
      ['gantry.internal', 'gantry.internal'],
    ],
    wrong: ['http://x', 'a b', '-x', 'a..b', 'host:80'],
  },
  publicUrl: {
    right: [
      ['https://gantry.example.com', 'https://gantry.example.com'],
      ['HTTPS://Gantry.Example.com:443/', 'https://gantry.example.com'],
      ['http://10.0.0.1:7070/gantry//', 'http://10.0.0.1:7070/gantry'],
      ['https://gantry.example.com/?', 'https://gantry.example.com'],
    ],
    wrong: [
      'gantry.example.com',
      'ftp://x',
      'https://x/?a=1',
      'https://x/#a',
      'https://me@x',
      'https://:me@x',
      'http://',
    ],
  },
  home: {
    right: [
      ['/var/lib/gantry', '/var/lib/gantry'],
      ['there', resolve('there')],
    ],
    wrong: [],
  },
  databaseUrl: {
    right: [
      [POSTGRES, POSTGRES],
      ['postgresql:///gantry?host=/run', 'postgresql:///gantry?host=/run'],
    ],
    wrong: ['mysql://x', 'localhost:5432', 'postgres'],
  },
  role: {
    right: [
      ['all', 'all'],
      ['api', 'api'],
      ['worker', 'worker'],
    ],
    wrong: ['API', 'web'],
  },
  adminEmail: {
    right: [['me@example.org', 'me@example.org']],
    wrong: ['me', 'me@', '@example.org', 'a b@c', `${'x'.repeat(250)}@y.org`],
  },
  adminPassword: {
    right: [
      ['8 signs!', '8 signs!'],
      ['x'.repeat(255), 'x'.repeat(255)],
    ],
    wrong: ['7 signs', 'x'.repeat(256)],
  },
  secretKey: { right: [[KEY, KEY]], wrong: ['ab', 'z'.repeat(64), KEY.slice(1)] },
  allowTargets: {
    right: [[' 10.0.0.0/8 , hooks.internal,::1,', ['10.0.0.0/8', 'hooks.internal', '::1']]],
    wrong: ['10.0.0.0/33', 'http://hooks.internal', 'a b', '10.0.0.0/8 hooks.internal'],
  },
  trustProxy: {
    right: [['10.0.0.0/8, fd00::/8,192.0.2.1', ['10.0.0.0/8', 'fd00::/8', '192.0.2.1']]],
    wrong: ['proxy.internal', '10.0.0.0/33', 'loopback'],
  },
  sample: {
    right: [
      ['true', true],
      ['false', false],
    ],
    wrong: ['1', 'no', 'False'],
  },
  maxPayload: {
    right: [
      ['1024', 1024],
      [`${25 * MIB}`, 25 * MIB],
    ],
    wrong: ['1023', `${25 * MIB + 1}`, '1 MiB'],
  },
  keepBodiesDays: { right: [['1', 1]], wrong: ['0', '3651'] },
  logLevel: {
    right: [
      ['debug', 'debug'],
      ['silent', 'silent'],
    ],
    wrong: ['verbose', 'INFO'],
  },
  databaseConnections: { right: [['2', 2]], wrong: ['1', '201'] },
  accessTokenMinutes: { right: [['1', 1]], wrong: ['0', '43201'] },
  refreshTokenDays: { right: [['365', 365]], wrong: ['0', '366'] },
  requestTimeoutMs: { right: [['100', 100]], wrong: ['99', '600001'] },
  heartbeatSeconds: { right: [['10', 10]], wrong: ['9', '61'] },
  pollMs: { right: [['50', 50]], wrong: ['49', '60001'] },
  deliveryPollMs: { right: [['50', 50]], wrong: ['49', '60001', 'soon'] },
  stopGraceMs: { right: [['0', 0]], wrong: ['-1', '600001', '99999999999999999999'] },
}

/** Roles other than all need a database server, so one is always given. */
function read(variable: string, text: string): Config {
  return readConfig({ DATABASE_URL: POSTGRES, [variable]: text })
}

test('an empty environment gives the defaults of the README', () => {
  assert.deepEqual(readConfig({}), DEFAULTS)
})

test('an empty variable counts as unset', () => {
  const variables = Object.values(settings).map(({ variable }) => [variable, ''])
  assert.deepEqual(readConfig(Object.fromEntries(variables)), DEFAULTS)
})

for (const [key, { right, wrong }] of Object.entries(EXAMPLES)) {
  const { variable } = settings[key as keyof Config]

  test(`${variable} is read from its text`, () => {
    for (const [text, value] of right) {
      assert.deepEqual(read(variable, text)[key as keyof Config], value, text)
    }
  })

  if (wrong.length > 0) {
    test(`${variable} refuses what it cannot mean, and says what it can`, () => {
      for (const text of wrong) {
        assert.throws(() => read(variable, text), faultIn(variable), text)
      }
    })
  }
}

function faultIn(variable: string) {
  return (error: unknown) => {
    assert.ok(error instanceof ConfigError)
    const [title, fault, ...more] = error.message.split('\n')
    assert.equal(title, 'The configuration has a fault:')
    assert.match(fault!, new RegExp(`^  - ${variable} must `))
    assert.deepEqual(more, [])
    return true
  }
}

test('every fault is listed at once', () => {
  const faulty = Object.entries(EXAMPLES).filter(([, { wrong }]) => wrong.length > 0)
  const environment = Object.fromEntries(
    faulty.map(([key, { wrong }]) => [settings[key as keyof Config].variable, wrong[0]!]),
  )
  assert.throws(
    () => readConfig(environment),
    (error: Error) => {
      const lines = error.message.split('\n').slice(1)
      const named = lines.map((line) => /^ {2}- (\w+) must /.exec(line)?.[1])
      assert.deepEqual(named, Object.keys(environment))
      return true
    },
  )
})

test('no fault repeats a secret', () => {
  const environment = {
    GANTRY_SECRET_KEY: 'hunter2',
    GANTRY_ADMIN_PASSWORD: 'hunter2',
    DATABASE_URL: 'my://hunter2@x',
  }
  assert.throws(
    () => readConfig(environment),
    (error: Error) => !error.message.includes('hunter2'),
  )
})

test('a process that is only the API or only a worker needs a database server to share', () => {
  for (const role of ['api', 'worker']) {
    assert.throws(() => readConfig({ GANTRY_ROLE: role }), {
      message: `The configuration has a fault:\n  - GANTRY_ROLE=${role} needs DATABASE_URL: several processes share one database server`,
    })
  }
})

test('no variable is read by two settings', () => {
  const variables = Object.values(settings).map(({ variable }) => variable)
  assert.equal(new Set(variables).size, variables.length)
})

test('the base address is the public one, else host and port as a browser can use them', () => {
  const at = (host: string, publicUrl?: string) => baseAddress({ host, publicUrl }, 7070)
  assert.equal(at('127.0.0.1', 'https://gantry.example.com'), 'https://gantry.example.com')
  assert.equal(at('127.0.0.1'), 'http://127.0.0.1:7070')
  assert.equal(at('0.0.0.0'), 'http://localhost:7070')
  assert.equal(at('::'), 'http://localhost:7070')
  assert.equal(at('::1'), 'http://[::1]:7070')
})

test('a service that listens on every address does not count as reached over loopback only', () => {
  const base = 'http://localhost:7070'
  for (const HOST of ['0.0.0.0', '::']) assert.equal(reachedAt(readConfig({ HOST }), base), 'http://0.0.0.0')
  assert.equal(reachedAt(readConfig({}), base), base)
  const own = readConfig({ HOST: '0.0.0.0', GANTRY_URL: 'https://gantry.example' })
  assert.equal(reachedAt(own, 'https://gantry.example'), 'https://gantry.example')
})
