import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  AUTH_TYPES,
  displayName,
  ENVIRONMENT_TYPES,
  OPERATIONS,
  PROVIDER_TYPES,
  PROVIDERS,
  REASONS,
  RESOURCE_TYPES,
  STATUSES,
  TRIGGER_TYPES,
} from './vocabulary.ts'

test('the values of the API are those of the contract, in its order', () => {
  const words = (text: string) => text.trim().split(/\s+/)
  assert.deepEqual(
    Object.keys(OPERATIONS),
    words(`deploy configure provision start stop restart reload get_status rotate_key check_provisioned
      remove delete custom`),
  )
  assert.deepEqual(
    Object.keys(STATUSES),
    words('pending waiting queued in-progress completed failed skipped'),
  )
  assert.deepEqual(
    Object.keys(REASONS),
    words(`PENDING QUEUED WAITING_CONCURRENCY_PIPELINE WAITING_CONCURRENCY_TARGET WAITING_WORKER WAITING_CHECKS WAITING_APPROVAL WAITING_FREEZE IN_PROGRESS
      REVERTING RECONNECTING COMPLETED FAILED FAILED_TIMEOUT FAILED_CANCELLED FAILED_WORKER_LOST FAILED_UNREACHABLE FAILED_SOURCE
      FAILED_UNHEALTHY FAILED_CHECKS FAILED_REJECTED FAILED_EXPIRED FAILED_REVERTED FAILED_REVERT SKIPPED SKIPPED_UNCHANGED SKIPPED_OUTDATED
      SKIPPED_EXPIRED`),
  )
  assert.deepEqual([...TRIGGER_TYPES], words('hook manual retry pipeline'))
  assert.deepEqual(Object.keys(RESOURCE_TYPES), words('application server'))
  assert.deepEqual(Object.keys(ENVIRONMENT_TYPES), words('development staging production'))
  assert.deepEqual(Object.keys(PROVIDERS), words('github gitlab bitbucket gitea git ssh local slack discord'))
  assert.deepEqual(Object.keys(PROVIDER_TYPES), words('source_provider ssh_key server chat'))
  assert.deepEqual(Object.keys(AUTH_TYPES), words('token key none'))
})

test('every value has a display name: capitalized, without underscores', () => {
  const tables = [
    OPERATIONS,
    STATUSES,
    REASONS,
    RESOURCE_TYPES,
    ENVIRONMENT_TYPES,
    PROVIDERS,
    PROVIDER_TYPES,
    AUTH_TYPES,
  ]
  for (const [word, form] of tables.flatMap((table) => Object.entries<string>(table))) {
    assert.match(form, /^[A-Z][^_]*$/, word)
    assert.equal(form, form.trim(), word)
  }
})

test('the reason code in the spec has the display name of the spec', () => {
  assert.equal(REASONS.PENDING, 'Pending')
})

test('known languages and frameworks get their official spelling', () => {
  const spellings: Record<string, string> = {
    php: 'PHP',
    PHP: 'PHP',
    'next.js': 'Next.js',
    NextJS: 'Next.js',
    'node-js': 'Node.js',
    laravel: 'Laravel',
    rails: 'Ruby on Rails',
    typescript: 'TypeScript',
    dotnet: '.NET',
    csharp: 'C#',
  }
  for (const [word, spelling] of Object.entries(spellings)) assert.equal(displayName(word), spelling)
})

test('other words are capitalized and spaced, and inherited properties are not spellings', () => {
  assert.equal(displayName('my_own-framework'), 'My own framework')
  assert.equal(displayName('c#'), 'C#')
  assert.equal(displayName('C++'), 'C++')
  assert.equal(displayName('constructor'), 'Constructor')
  assert.equal(displayName('éclair'), 'Éclair')
  assert.equal(displayName(''), '')
})

test('null stays null', () => {
  assert.equal(displayName(null), null)
})
