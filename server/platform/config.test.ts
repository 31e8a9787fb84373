import assert from 'node:assert/strict'
import { hostname } from 'node:os'
import { resolve } from 'node:path'
import { test } from 'node:test'
import { baseUrlOf, type Config, ConfigError, guardUrl, readConfig, settings } from './config.ts'

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
  workerName: hostname(),
  workerPort: null,
  targetsPerWorker: 32,
  drainSeconds: 0,
  adminEmail: 'admin@example.com',
  adminPassword: undefined,
  secretKey: undefined,
  passwordLogin: true,
  oidcIssuer: undefined,
  oidcClientId: undefined,
  oidcClientSecret: undefined,
  oidcLabel: 'Single sign-on',
  oidcGroupsClaim: 'groups',
  oidcGroupRoles: new Map(),
  oidcSignup: false,
  oidcTrustEmail: false,
  allowTargets: [],
  sshTargets: [],
  trustProxy: [],
  tokenTargets: 'anywhere',
  metricsToken: undefined,
  unsafeLocalSteps: false,
  sample: true,
  maxPayload: MIB,
  maxSource: 10_240 * MIB,
  keepBodiesDays: 30,
  retentionRunsDays: null,
  retentionRunsPerPipeline: null,
  retentionLogsDays: null,
  retentionRequestsDays: null,
  logLevel: 'info',
  databaseConnections: 10,
  accessTokenMinutes: 720,
  refreshTokenDays: 30,
  requestTimeoutMs: 30_000,
  heartbeatSeconds: 20,
  pollMs: 5_000,
  settleSeconds: 45,
  missedAfterSeconds: 120,
  checksSeconds: 15,
  reattachSeconds: 300,
  deliveryPollMs: 1_000,
  stopGraceMs: 10_000,
}

/** For each setting: valid texts with their values, and invalid texts. */
const EXAMPLES: { [Key in keyof Config]: { valid: [string, Config[Key]][]; invalid: string[] } } = {
  port: {
    valid: [
      ['0', 0],
      ['65535', 65_535],
    ],
    invalid: ['-1', '65536', '80a', '8e1', '0x50', ' 80', '7070.0'],
  },
  host: {
    valid: [
      ['0.0.0.0', '0.0.0.0'],
      ['::', '::'],
      ['gantry.internal', 'gantry.internal'],
    ],
    invalid: ['http://x', 'a b', '-x', 'a..b', 'host:80'],
  },
  publicUrl: {
    valid: [
      ['https://gantry.example.com', 'https://gantry.example.com'],
      ['HTTPS://Gantry.Example.com:443/', 'https://gantry.example.com'],
      ['http://10.0.0.1:7070/gantry//', 'http://10.0.0.1:7070/gantry'],
      ['https://gantry.example.com/?', 'https://gantry.example.com'],
    ],
    invalid: [
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
    valid: [
      ['/var/lib/gantry', '/var/lib/gantry'],
      ['there', resolve('there')],
    ],
    invalid: [],
  },
  databaseUrl: {
    valid: [
      [POSTGRES, POSTGRES],
      ['postgresql:///gantry?host=/run', 'postgresql:///gantry?host=/run'],
    ],
    invalid: [
      'mysql://x',
      'localhost:5432',
      'postgres',
      ...['/', '?', '#'].map((one) => `postgres://gantry:s3@cret${one}word@localhost/gantry`),
    ],
  },
  role: {
    valid: [
      ['all', 'all'],
      ['api', 'api'],
      ['worker', 'worker'],
    ],
    invalid: ['API', 'web'],
  },
  workerName: {
    valid: [
      ['web-1.internal', 'web-1.internal'],
      ['_x', '_x'],
    ],
    invalid: ['a b', '-x', 'x/y', 'ä', 'x'.repeat(254)],
  },
  workerPort: {
    valid: [
      ['0', 0],
      ['9100', 9100],
    ],
    invalid: ['-1', '65536', 'none'],
  },
  targetsPerWorker: {
    valid: [
      ['1', 1],
      ['1000', 1000],
    ],
    invalid: ['0', '1001', 'many'],
  },
  drainSeconds: {
    valid: [
      ['0', 0],
      ['86400', 86_400],
    ],
    invalid: ['-1', '86401', '5m'],
  },
  adminEmail: {
    valid: [['me@example.org', 'me@example.org']],
    invalid: ['me', 'me@', '@example.org', 'a b@c', `${'x'.repeat(250)}@y.org`],
  },
  adminPassword: {
    valid: [
      ['8 signs!', '8 signs!'],
      ['x'.repeat(255), 'x'.repeat(255)],
    ],
    invalid: ['7 signs', 'x'.repeat(256)],
  },
  secretKey: { valid: [[KEY, KEY]], invalid: ['ab', 'z'.repeat(64), KEY.slice(1)] },
  passwordLogin: {
    valid: [
      ['true', true],
      ['false', false],
    ],
    invalid: ['no'],
  },
  oidcIssuer: {
    valid: [
      ['https://login.example.com/realms/acme', 'https://login.example.com/realms/acme'],
      ['http://localhost:3000', 'http://localhost:3000'],
      ['http://127.0.0.1:3000/', 'http://127.0.0.1:3000/'],
      ['http://[::1]:3000', 'http://[::1]:3000'],
    ],
    invalid: [
      'http://login.example.com',
      'http://127.0.0.1.example.com',
      'http://10.0.0.1',
      'login.example.com',
      'https://me:hunter2@login.example.com',
      'https://login.example.com/?tenant=1',
      'ftp://login.example.com',
      'https://login.example.com/.well-known/openid-configuration',
    ],
  },
  oidcClientId: { valid: [['gantry', 'gantry']], invalid: ['x'.repeat(256)] },
  oidcClientSecret: { valid: [['correct horse', 'correct horse']], invalid: ['x'.repeat(1025)] },
  oidcLabel: { valid: [['Sign in with Acme', 'Sign in with Acme']], invalid: ['x'.repeat(61), 'two\nlines'] },
  oidcGroupsClaim: { valid: [['roles', 'roles']], invalid: ['x'.repeat(256)] },
  oidcGroupRoles: {
    valid: [
      ['{}', new Map()],
      [
        '{"ops": [{"organization": "acme", "project": "Shop", "environment": "Live", "role": "admin"}], "__proto__": [{"organization": "acme", "role": "Release manager"}]}',
        new Map([
          ['ops', [{ organization: 'acme', project: 'Shop', environment: 'Live', role: 'admin' }]],
          ['__proto__', [{ organization: 'acme', role: 'Release manager' }]],
        ]),
      ],
    ],
    invalid: [
      '{',
      '[]',
      'null',
      '{"ops": []}',
      '{"ops": {"organization": "acme", "role": "admin"}}',
      '{"ops": ["admin"]}',
      '{"ops": [{"organization": "acme"}]}',
      '{"ops": [{"organization": "", "role": "admin"}]}',
      '{"ops": [{"organization": "acme", "role": "admin", "project": null}]}',
      '{"ops": [{"organization": "acme", "role": "admin", "environment": "Live"}]}',
      '{"ops": [{"organization": "acme", "role": "admin", "projekt": "Shop"}]}',
    ],
  },
  oidcSignup: {
    valid: [
      ['true', true],
      ['false', false],
    ],
    invalid: ['yes'],
  },
  oidcTrustEmail: {
    valid: [
      ['true', true],
      ['false', false],
    ],
    invalid: ['1'],
  },
  allowTargets: {
    valid: [[' 10.0.0.0/8 , hooks.internal,::1,', ['10.0.0.0/8', 'hooks.internal', '::1']]],
    invalid: ['10.0.0.0/33', 'http://hooks.internal', 'a b', '10.0.0.0/8 hooks.internal'],
  },
  sshTargets: {
    valid: [['10.0.0.0/8, fd00::/8,192.0.2.1', ['10.0.0.0/8', 'fd00::/8', '192.0.2.1']]],
    invalid: ['web-1.internal', '10.0.0.0/33', '10.0.0.0/8 fd00::/8'],
  },
  trustProxy: {
    valid: [['10.0.0.0/8, fd00::/8,192.0.2.1', ['10.0.0.0/8', 'fd00::/8', '192.0.2.1']]],
    invalid: ['proxy.internal', '10.0.0.0/33', 'loopback'],
  },
  tokenTargets: {
    valid: [
      ['anywhere', 'anywhere'],
      ['provider', 'provider'],
    ],
    invalid: ['Provider', 'nowhere', 'https://github.com'],
  },
  metricsToken: {
    valid: [['0123456789.-_~+/=', '0123456789.-_~+/=']],
    invalid: ['0123456789abcde', 'with a space in between', 'ünicode-0123456789', 'x'.repeat(513)],
  },
  unsafeLocalSteps: {
    valid: [
      ['true', true],
      ['false', false],
    ],
    invalid: ['1', 'no', 'False'],
  },
  sample: {
    valid: [
      ['true', true],
      ['false', false],
    ],
    invalid: ['1', 'no', 'False'],
  },
  maxPayload: {
    valid: [
      ['1024', 1024],
      [`${25 * MIB}`, 25 * MIB],
    ],
    invalid: ['1023', `${25 * MIB + 1}`, '1 MiB'],
  },
  maxSource: {
    valid: [[`${MIB}`, MIB]],
    invalid: [`${MIB - 1}`, `${1024 ** 4 + 1}`, '10 GiB'],
  },
  keepBodiesDays: { valid: [['1', 1]], invalid: ['0', '3651'] },
  retentionRunsDays: { valid: [['90', 90]], invalid: ['0', '36501', 'forever'] },
  retentionRunsPerPipeline: { valid: [['100000', 100_000]], invalid: ['0', '100001'] },
  retentionLogsDays: { valid: [['1', 1]], invalid: ['0', '-1'] },
  retentionRequestsDays: { valid: [['36500', 36_500]], invalid: ['1.5'] },
  logLevel: {
    valid: [
      ['debug', 'debug'],
      ['silent', 'silent'],
    ],
    invalid: ['verbose', 'INFO'],
  },
  databaseConnections: { valid: [['2', 2]], invalid: ['1', '201'] },
  accessTokenMinutes: { valid: [['1', 1]], invalid: ['0', '43201'] },
  refreshTokenDays: { valid: [['365', 365]], invalid: ['0', '366'] },
  requestTimeoutMs: { valid: [['100', 100]], invalid: ['99', '600001'] },
  heartbeatSeconds: { valid: [['10', 10]], invalid: ['9', '61'] },
  pollMs: { valid: [['50', 50]], invalid: ['49', '60001'] },
  settleSeconds: { valid: [['1', 1]], invalid: ['0', '3601'] },
  missedAfterSeconds: { valid: [['1', 1]], invalid: ['0', '3601'] },
  checksSeconds: { valid: [['1', 1]], invalid: ['0', '601'] },
  reattachSeconds: { valid: [['5', 5]], invalid: ['4', '86401'] },
  deliveryPollMs: { valid: [['50', 50]], invalid: ['49', '60001', 'soon'] },
  stopGraceMs: { valid: [['0', 0]], invalid: ['-1', '600001', '99999999999999999999'] },
}

const OIDC_CLIENT = {
  GANTRY_OIDC_ISSUER: 'https://login.example.com',
  GANTRY_OIDC_CLIENT_ID: 'gantry',
  GANTRY_OIDC_CLIENT_SECRET: 'hunter2',
}

/** Some settings require others, which are therefore always given. */
function read(variable: string, text: string): Config {
  return readConfig({ DATABASE_URL: POSTGRES, ...OIDC_CLIENT, [variable]: text })
}

test('an empty environment gives the documented defaults', () => {
  assert.deepEqual(readConfig({}), DEFAULTS)
})

test('an empty variable counts as unset', () => {
  const variables = Object.values(settings).map(({ variable }) => [variable, ''])
  assert.deepEqual(readConfig(Object.fromEntries(variables)), DEFAULTS)
})

for (const [key, { valid, invalid }] of Object.entries(EXAMPLES)) {
  const { variable } = settings[key as keyof Config]

  test(`${variable} is read from its text`, () => {
    for (const [text, value] of valid) {
      assert.deepEqual(read(variable, text)[key as keyof Config], value, text)
    }
  })

  if (invalid.length > 0) {
    test(`${variable} rejects invalid values and says what is valid`, () => {
      for (const text of invalid) {
        assert.throws(() => read(variable, text), problemIn(variable), text)
      }
    })
  }
}

function problemIn(variable: string) {
  return (error: unknown) => {
    assert.ok(error instanceof ConfigError)
    const [title, problem, ...more] = error.message.split('\n')
    assert.equal(title, 'Invalid configuration:')
    assert.match(problem!, new RegExp(`^  - ${variable} must `))
    assert.deepEqual(more, [])
    return true
  }
}

test('every problem is listed at once', () => {
  const rejecting = Object.entries(EXAMPLES).filter(([, { invalid }]) => invalid.length > 0)
  const environment = Object.fromEntries(
    rejecting.map(([key, { invalid }]) => [settings[key as keyof Config].variable, invalid[0]!]),
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

test('no message contains a secret', () => {
  const environment = {
    GANTRY_SECRET_KEY: 'hunter2',
    GANTRY_ADMIN_PASSWORD: 'hunter2',
    DATABASE_URL: 'my://hunter2@x',
    GANTRY_METRICS_TOKEN: 'hunter2',
    GANTRY_OIDC_CLIENT_SECRET: 'hunter2',
  }
  assert.throws(
    () => readConfig(environment),
    (error: Error) => !error.message.includes('hunter2'),
  )
})

test('a process that is only the API or only a worker requires a shared database server', () => {
  for (const role of ['api', 'worker']) {
    assert.throws(() => readConfig({ GANTRY_ROLE: role }), {
      message: `Invalid configuration:\n  - GANTRY_ROLE=${role} requires DATABASE_URL: the processes share one database server`,
    })
  }
})

test('single sign-on requires issuer, client ID and client secret together', () => {
  for (const missing of Object.keys(OIDC_CLIENT)) {
    assert.throws(() => readConfig({ ...OIDC_CLIENT, [missing]: '' }), {
      message: `Invalid configuration:\n  - single sign-on requires all of ${Object.keys(OIDC_CLIENT).join(', ')}; missing: ${missing}`,
    })
  }
})

test('passwords are turned off only with single sign-on', () => {
  assert.throws(() => readConfig({ GANTRY_PASSWORD_LOGIN: 'false' }), {
    message:
      'Invalid configuration:\n  - GANTRY_PASSWORD_LOGIN=false requires single sign-on: set GANTRY_OIDC_ISSUER',
  })
  assert.equal(readConfig({ ...OIDC_CLIENT, GANTRY_PASSWORD_LOGIN: 'false' }).passwordLogin, false)
})

test('no variable is read by two settings', () => {
  const variables = Object.values(settings).map(({ variable }) => variable)
  assert.equal(new Set(variables).size, variables.length)
})

test('the base URL is the public one, else host and port as a browser can use them', () => {
  const at = (host: string, publicUrl?: string) => baseUrlOf({ host, publicUrl }, 7070)
  assert.equal(at('127.0.0.1', 'https://gantry.example.com'), 'https://gantry.example.com')
  assert.equal(at('127.0.0.1'), 'http://127.0.0.1:7070')
  assert.equal(at('0.0.0.0'), 'http://localhost:7070')
  assert.equal(at('::'), 'http://localhost:7070')
  assert.equal(at('::1'), 'http://[::1]:7070')
})

test('a service that listens on every address may not reach loopback', () => {
  const base = 'http://localhost:7070'
  for (const HOST of ['0.0.0.0', '::']) assert.equal(guardUrl(readConfig({ HOST }), base), 'http://0.0.0.0')
  assert.equal(guardUrl(readConfig({}), base), base)
  const own = readConfig({ HOST: '0.0.0.0', GANTRY_URL: 'https://gantry.example' })
  assert.equal(guardUrl(own, 'https://gantry.example'), 'https://gantry.example')
})
